;; A waPC guest that finds every settings valid, and whose `validate` a test fills in.
(module
  (import "wapc" "__guest_request" (func $guest_request (param i32 i32)))
  (import "wapc" "__guest_response" (func $guest_response (param i32 i32)))
  (memory (export "memory") 4)
  (data (i32.const 0) "{\"valid\":true}")     ;; 14
  (data (i32.const 32) "{\"accepted\":true}") ;; 17

  (func (export "__guest_call") (param $name_length i32) (param $length i32) (result i32)
    (call $guest_request (i32.const 256) (i32.const 1024))
    (if (i32.eq (local.get $name_length) (i32.const 17)) ;; validate_settings
      (then
        (call $guest_response (i32.const 0) (i32.const 14))
        (return (i32.const 1))))
    ;; VALIDATE
    (unreachable))
)
