;; A waPC guest for tests. Its functions are told apart by the first letter of their names:
;;   ask      passes its payload to the host call `kubernetes get_resource`, and returns the answer or the error
;;   digest   the same with `oci v1/manifest_digest`
;;   bind     the same with a binding that doesn't exist
;;   log      logs its payload
;;   count    returns how often this instance was called, as one digit
;;   endless  never returns
;;   fail     returns its payload as an error
;;   trap     crashes
;;   grow     takes one more page of memory, and returns nothing
(module
  (import "wapc" "__guest_request" (func $guest_request (param i32 i32)))
  (import "wapc" "__guest_response" (func $guest_response (param i32 i32)))
  (import "wapc" "__guest_error" (func $guest_error (param i32 i32)))
  (import "wapc" "__host_call" (func $host_call (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wapc" "__host_response" (func $host_response (param i32)))
  (import "wapc" "__host_response_len" (func $host_response_len (result i32)))
  (import "wapc" "__host_error" (func $host_error (param i32)))
  (import "wapc" "__host_error_len" (func $host_error_len (result i32)))
  (memory (export "memory") 4)
  (data (i32.const 0) "kubewarden")         ;; 10
  (data (i32.const 16) "kubernetes")        ;; 10
  (data (i32.const 32) "get_resource")      ;; 12
  (data (i32.const 48) "oci")               ;; 3
  (data (i32.const 64) "v1/manifest_digest") ;; 18
  (data (i32.const 96) "tracing")           ;; 7
  (data (i32.const 112) "log")              ;; 3
  (global $calls (mut i32) (i32.const 0))

  ;; The function's name is at 256, the payload at 1024, the host's answer at 65536.
  (func $ask (param $binding_length i32) (param $namespace i32) (param $namespace_length i32)
             (param $operation i32) (param $operation_length i32) (param $length i32) (result i32)
    (if (result i32)
      (call $host_call (i32.const 0) (local.get $binding_length) (local.get $namespace) (local.get $namespace_length)
                       (local.get $operation) (local.get $operation_length) (i32.const 1024) (local.get $length))
      (then
        (call $host_response (i32.const 65536))
        (call $guest_response (i32.const 65536) (call $host_response_len))
        (i32.const 1))
      (else
        (call $host_error (i32.const 65536))
        (call $guest_error (i32.const 65536) (call $host_error_len))
        (i32.const 0))))

  (func (export "__guest_call") (param $name_length i32) (param $length i32) (result i32)
    (local $name i32)
    (call $guest_request (i32.const 256) (i32.const 1024))
    (local.set $name (i32.load8_u (i32.const 256)))
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (if (i32.eq (local.get $name) (i32.const 97)) ;; a
      (then (return (call $ask (i32.const 10) (i32.const 16) (i32.const 10) (i32.const 32) (i32.const 12) (local.get $length)))))
    (if (i32.eq (local.get $name) (i32.const 98)) ;; b
      (then (return (call $ask (i32.const 4) (i32.const 16) (i32.const 10) (i32.const 32) (i32.const 12) (local.get $length)))))
    (if (i32.eq (local.get $name) (i32.const 99)) ;; c
      (then
        (i32.store8 (i32.const 1024) (i32.add (i32.const 48) (global.get $calls)))
        (call $guest_response (i32.const 1024) (i32.const 1))
        (return (i32.const 1))))
    (if (i32.eq (local.get $name) (i32.const 100)) ;; d
      (then (return (call $ask (i32.const 10) (i32.const 48) (i32.const 3) (i32.const 64) (i32.const 18) (local.get $length)))))
    (if (i32.eq (local.get $name) (i32.const 101)) ;; e
      (then (loop $again (br $again))))
    (if (i32.eq (local.get $name) (i32.const 102)) ;; f
      (then (call $guest_error (i32.const 1024) (local.get $length)) (return (i32.const 0))))
    (if (i32.eq (local.get $name) (i32.const 103)) ;; g
      (then
        (drop (memory.grow (i32.const 1)))
        (call $guest_response (i32.const 1024) (i32.const 0))
        (return (i32.const 1))))
    (if (i32.eq (local.get $name) (i32.const 108)) ;; l
      (then (return (call $ask (i32.const 10) (i32.const 96) (i32.const 7) (i32.const 112) (i32.const 3) (local.get $length)))))
    (unreachable))
)
