// Copyright (c) Microsoft Corporation.
// Licensed under the MIT License.

using System;
using System.Runtime.InteropServices;
using System.Text;
using Regorus.Internal;


#nullable enable
namespace Regorus
{
    /// <summary>
    /// C# Wrapper for the Regorus engine.
    /// This class is not thread-safe. For multithreaded use, prefer cloning after adding policies and data to an instance.
    /// Cloning is cheap and involves only incrementing reference counts for shared immutable objects like parsed policies,
    /// data etc. Mutable state is deep copied as needed.
    /// </summary>
    public unsafe sealed class Engine : SafeHandleWrapper
    {
        public Engine()
            : base(RegorusEngineHandle.Create(), nameof(Engine))
        {
        }

        public static void SetFallbackExecutionTimerConfig(ExecutionTimerConfig config)
        {
            var nativeConfig = config.ToNative();
            CheckAndDropResult(Regorus.Internal.API.regorus_set_fallback_execution_timer_config(nativeConfig));
        }

        public static void ClearFallbackExecutionTimerConfig()
        {
            CheckAndDropResult(Regorus.Internal.API.regorus_clear_fallback_execution_timer_config());
        }

        public static void SetCacheConfig(CacheConfig config)
        {
            var nativeConfig = config.ToNative();
            CheckAndDropResult(Regorus.Internal.API.regorus_set_cache_config(nativeConfig));
        }

        public static void ClearCache()
        {
            CheckAndDropResult(Regorus.Internal.API.regorus_clear_cache());
        }

        private Engine(RegorusEngineHandle handle)
            : base(handle, nameof(Engine))
        {
        }

        public Engine Clone()
        {
            return UseHandle(enginePtr =>
            {
                unsafe
                {
                    var clonePtr = Regorus.Internal.API.regorus_engine_clone((Regorus.Internal.RegorusEngine*)enginePtr);
                    if (clonePtr is null)
                    {
                        throw new InvalidOperationException("Failed to clone Regorus engine.");
                    }

                    var handle = RegorusEngineHandle.FromPointer((IntPtr)clonePtr);
                    return new Engine(handle);
                }
            });
        }

        public void SetStrictBuiltinErrors(bool strict)
        {
            UseHandle(enginePtr =>
            {
                CheckAndDropResult(Regorus.Internal.API.regorus_engine_set_strict_builtin_errors((Regorus.Internal.RegorusEngine*)enginePtr, strict));
            });
        }

        public void SetExecutionTimerConfig(ExecutionTimerConfig config)
        {
            var nativeConfig = config.ToNative();
            UseHandle(enginePtr =>
            {
                var localConfig = nativeConfig;
                CheckAndDropResult(Regorus.Internal.API.regorus_engine_set_execution_timer_config((Regorus.Internal.RegorusEngine*)enginePtr, &localConfig));
            });
        }

        public void ClearExecutionTimerConfig()
        {
            UseHandle(enginePtr =>
            {
                CheckAndDropResult(Regorus.Internal.API.regorus_engine_clear_execution_timer_config((Regorus.Internal.RegorusEngine*)enginePtr));
            });
        }

        public void SetPolicyLengthConfig(PolicyLengthConfig config)
        {
            var nativeConfig = config.ToNative();
            UseHandle(enginePtr =>
            {
                CheckAndDropResult(Regorus.Internal.API.regorus_engine_set_policy_length_config((Regorus.Internal.RegorusEngine*)enginePtr, nativeConfig));
            });
        }

        public void ClearPolicyLengthConfig()
        {
            UseHandle(enginePtr =>
            {
                CheckAndDropResult(Regorus.Internal.API.regorus_engine_clear_policy_length_config((Regorus.Internal.RegorusEngine*)enginePtr));
            });
        }

        /// <summary>
        /// Adds a policy and returns its legacy dot-joined package metadata.
        /// Quoted string contents omit their delimiter quotes. This value is
        /// not a canonical rule path; use bracket notation for string
        /// components when evaluating a rule.
        /// </summary>
        /// <exception cref="ArgumentException">The path contains an embedded NUL.</exception>
        public string? AddPolicy(string path, string rego)
        {
            Utf8Marshaller.ThrowIfContainsNul(path, nameof(path));

            return Utf8Marshaller.WithUtf8(path, pathPtr =>
                Utf8Marshaller.WithUtf8(rego, regoPtr =>
                    UseHandle(enginePtr =>
                        CheckAndDropResult(Regorus.Internal.API.regorus_engine_add_policy((Regorus.Internal.RegorusEngine*)enginePtr, (byte*)pathPtr, (byte*)regoPtr))
                    )));
        }

        /// <summary>
        /// Check whether the policy module identified by its exact source path declares a rule at the selected rule path or a descendant, without evaluating the policy.
        /// </summary>
        /// <param name="sourcePath">The exact source label associated with the loaded policy module.</param>
        /// <param name="rootName">A native-grammar rule path, either a root identifier such as <c>metadata</c> or a dotted path such as <c>metadata.parameters</c>.</param>
        /// <returns>True if the module declares a rule at the selected path or any component-wise descendant.</returns>
        /// <exception cref="ArgumentException">Either string contains an embedded NUL, or the rule path is invalid.</exception>
        /// <exception cref="ArgumentNullException">The source path or root name is null.</exception>
        /// <exception cref="InvalidOperationException">
        /// No unique loaded module matches the source path or a rule head cannot be classified.
        /// </exception>
        public bool HasDeclaredRuleRootedAt(string sourcePath, string rootName)
        {
            if (sourcePath is null)
            {
                throw new ArgumentNullException(nameof(sourcePath));
            }
            if (rootName is null)
            {
                throw new ArgumentNullException(nameof(rootName));
            }

            Utf8Marshaller.ThrowIfContainsNul(sourcePath, nameof(sourcePath));
            Utf8Marshaller.ThrowIfContainsNul(rootName, nameof(rootName));

            return Utf8Marshaller.WithUtf8(sourcePath, pathPtr =>
                Utf8Marshaller.WithUtf8(rootName, rootNamePtr =>
                    UseHandle(enginePtr =>
                        ResultHelpers.GetBoolResult(
                            Regorus.Internal.API.regorus_engine_has_declared_rule_rooted_at(
                                (Regorus.Internal.RegorusEngine*)enginePtr,
                                (byte*)pathPtr,
                                (byte*)rootNamePtr),
                            nameof(rootName)))));
        }

        public void SetRegoV0(bool enable)
        {
            UseHandle(enginePtr =>
            {
                CheckAndDropResult(Regorus.Internal.API.regorus_engine_set_rego_v0((Regorus.Internal.RegorusEngine*)enginePtr, enable));
            });
        }

        /// <summary>
        /// Adds a policy file and returns its legacy dot-joined package
        /// metadata, not a canonical rule path. Quoted string contents omit
        /// their delimiter quotes.
        /// </summary>
        /// <exception cref="ArgumentException">The path contains an embedded NUL.</exception>
        public string? AddPolicyFromFile(string path)
        {
            Utf8Marshaller.ThrowIfContainsNul(path, nameof(path));

            return Utf8Marshaller.WithUtf8(path, pathPtr =>
            {
                return UseHandle(enginePtr =>
                    CheckAndDropResult(Regorus.Internal.API.regorus_engine_add_policy_from_file((Regorus.Internal.RegorusEngine*)enginePtr, (byte*)pathPtr))
                );
            });

        }

        public void AddDataJson(string data)
        {
            Utf8Marshaller.WithUtf8(data, dataPtr =>
            {
                UseHandle(enginePtr =>
                {
                    CheckAndDropResult(Regorus.Internal.API.regorus_engine_add_data_json((Regorus.Internal.RegorusEngine*)enginePtr, (byte*)dataPtr));
                });
            });

        }

        public void AddDataFromJsonFile(string path)
        {
            Utf8Marshaller.WithUtf8(path, pathPtr =>
            {
                UseHandle(enginePtr =>
                {
                    CheckAndDropResult(Regorus.Internal.API.regorus_engine_add_data_from_json_file((Regorus.Internal.RegorusEngine*)enginePtr, (byte*)pathPtr));
                });
            });

        }

        public void SetInputJson(string input)
        {
            Utf8Marshaller.WithUtf8(input, inputPtr =>
            {
                UseHandle(enginePtr =>
                {
                    CheckAndDropResult(Regorus.Internal.API.regorus_engine_set_input_json((Regorus.Internal.RegorusEngine*)enginePtr, (byte*)inputPtr));
                });
            });
        }

        public void SetInputFromJsonFile(string path)
        {
            Utf8Marshaller.WithUtf8(path, pathPtr =>
            {
                UseHandle(enginePtr =>
                {
                    CheckAndDropResult(Regorus.Internal.API.regorus_engine_set_input_from_json_file((Regorus.Internal.RegorusEngine*)enginePtr, (byte*)pathPtr));
                });
            });
        }

        public string? EvalQuery(string query)
        {
            return Utf8Marshaller.WithUtf8(query, queryPtr =>
            {
                return UseHandle(enginePtr =>
                    CheckAndDropResult(Regorus.Internal.API.regorus_engine_eval_query((Regorus.Internal.RegorusEngine*)enginePtr, (byte*)queryPtr))
                );
            });
        }

        public string? EvalRule(string rule)
        {
            return Utf8Marshaller.WithUtf8(rule, rulePtr =>
            {
                return UseHandle(enginePtr =>
                    CheckAndDropResult(Regorus.Internal.API.regorus_engine_eval_rule((Regorus.Internal.RegorusEngine*)enginePtr, (byte*)rulePtr))
                );
            });
        }

        public void SetEnableCoverage(bool enable)
        {
            UseHandle(enginePtr =>
            {
                CheckAndDropResult(Regorus.Internal.API.regorus_engine_set_enable_coverage((Regorus.Internal.RegorusEngine*)enginePtr, enable));
            });
        }

        public void ClearCoverageData()
        {
            UseHandle(enginePtr =>
            {
                CheckAndDropResult(Regorus.Internal.API.regorus_engine_clear_coverage_data((Regorus.Internal.RegorusEngine*)enginePtr));
            });
        }

        public string? GetCoverageReport()
        {
            return UseHandle(enginePtr =>
            {
                return CheckAndDropResult(Regorus.Internal.API.regorus_engine_get_coverage_report((Regorus.Internal.RegorusEngine*)enginePtr));
            });
        }

        public string? GetCoverageReportPretty()
        {
            return UseHandle(enginePtr =>
            {
                return CheckAndDropResult(Regorus.Internal.API.regorus_engine_get_coverage_report_pretty((Regorus.Internal.RegorusEngine*)enginePtr));
            });
        }

        public void SetGatherPrints(bool enable)
        {
            UseHandle(enginePtr =>
            {
                CheckAndDropResult(Regorus.Internal.API.regorus_engine_set_gather_prints((Regorus.Internal.RegorusEngine*)enginePtr, enable));
            });
        }

        public string? TakePrints()
        {
            return UseHandle(enginePtr =>
            {
                return CheckAndDropResult(Regorus.Internal.API.regorus_engine_take_prints((Regorus.Internal.RegorusEngine*)enginePtr));
            });
        }

        public string? GetAstAsJson()
        {
            return UseHandle(enginePtr =>
            {
                return CheckAndDropResult(Regorus.Internal.API.regorus_engine_get_ast_as_json((Regorus.Internal.RegorusEngine*)enginePtr));
            });
        }

        /// <summary>
        /// Returns JSON rows with <c>source_file</c> and decoded string
        /// <c>components</c> for every loaded module, in insertion order.
        /// Repeated packages and source labels are retained; labels are not unique IDs.
        /// No synthetic <c>data</c> prefix is added. Literal dots stay within their
        /// component. An empty engine returns <c>[]</c>; the engine is not evaluated
        /// or prepared.
        /// </summary>
        /// <exception cref="EntryPointNotFoundException">
        /// The native library does not provide this export. Update the native library
        /// together with the managed binding; legacy package strings are not a fallback.
        /// </exception>
        public string? GetPolicyPackageComponents()
        {
            return UseHandle(enginePtr =>
            {
                return CheckAndDropResult(Regorus.Internal.API.regorus_engine_get_policy_package_components((Regorus.Internal.RegorusEngine*)enginePtr));
            });
        }

        /// <summary>
        /// Returns policy package metadata with its legacy dot-joined text and
        /// no <c>data</c> prefix. Quoted string contents omit their delimiter
        /// quotes; use canonical bracketed paths for rule lookup.
        /// </summary>
        public string? GetPolicyPackageNames()
        {
            return UseHandle(enginePtr =>
            {
                return CheckAndDropResult(Regorus.Internal.API.regorus_engine_get_policy_package_names((Regorus.Internal.RegorusEngine*)enginePtr));
            });
        }

        public string? GetPolicyParameters()
        {
            return UseHandle(enginePtr =>
            {
                return CheckAndDropResult(Regorus.Internal.API.regorus_engine_get_policy_parameters((Regorus.Internal.RegorusEngine*)enginePtr));
            });
        }

        private static string? CheckAndDropResult(Regorus.Internal.RegorusResult result)
        {
            return ResultHelpers.GetStringResult(result);
        }

    }
}
