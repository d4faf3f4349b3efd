// What the policy says of the workspace: asked again whenever something changes, the verdict first.

import { computed, nextTick, type Ref, ref, shallowRef, watch } from "vue";
import { type Answer, Engine, Stopped } from "./engine";
import type { Mark } from "./editor";
import { type CaseResult, type Decision, type Explanation, list, type Problem } from "./results";
import { YamlText } from "./text";
import { isWritten, options, path, type Role, text, type Workspace } from "./workspace";

/** What came of the workspace as it was last decided. */
export interface Verdict {
  decisions: Decision[];
  /** Why nothing was decided, or what is missing: the command's own words. */
  complaint: string;
  /** The milliseconds from the change until now. */
  took: number;
}

/** What came of the suite. */
export interface SuiteResult {
  cases: CaseResult[];
  complaint: string;
}

export interface Session {
  isReady: Ref<boolean>;
  isBusy: Ref<boolean>;
  verdict: Ref<Verdict | null>;
  explanations: Ref<Explanation[]>;
  /** Whether the explanations are about the workspace as it is now. */
  isExplained: Ref<boolean>;
  /** The manifest, as it is looked into: once for each of its texts. */
  manifest: Ref<YamlText>;
  suite: Ref<SuiteResult | null>;
  marks: Ref<Partial<Record<Role, Mark[]>>>;
  /** Runs a command beside the rest, on the files as they are. */
  ask: (args: string[]) => Promise<Answer>;
}

/** Decides a workspace, again and again, one change at a time: of several that came meanwhile the last one counts. */
export function useSession(workspace: Ref<Workspace>, engine: Engine): Session {
  const verdict = shallowRef<Verdict | null>(null);
  const explanations = shallowRef<Explanation[]>([]);
  const explained = shallowRef<Workspace | null>(null);
  const problems = shallowRef<Problem[]>([]);
  const suite = shallowRef<SuiteResult | null>(null);
  const isReady = ref(false);
  const isBusy = ref(false);
  let changed = performance.now();
  let isStale = true;

  const decide = async () => {
    if (isBusy.value || !isReady.value) return;
    isBusy.value = true;
    while (isStale) {
      isStale = false;
      for (const step of [decisions, lint, explain, test]) {
        await step(workspace.value);
        if (isStale) break;
      }
    }
    isBusy.value = false;
  };

  const run = async (args: string[], { files }: Workspace): Promise<Answer> => {
    try {
      return await engine.run(args, files);
    } catch (error) {
      const why = error instanceof Stopped ? `${error.message}; the engine was started again` : String(error);
      return { id: 0, code: 1, output: "", errors: `error: ${why}`, files: {} };
    }
  };

  const decisions = async (now: Workspace) => {
    const began = changed;
    const answer = isWritten(text(now, "manifest")) ? await run(["run", "-o", "json", ...options(now)], now) : await withoutManifest(now);
    verdict.value = { decisions: list<Decision>(answer.output), complaint: complaint(answer), took: performance.now() - began };
    await nextTick();
    // For whoever measures the page: from a change to what is shown of it.
    if (performance.getEntriesByName("first verdict").length === 0) performance.mark("first verdict");
    performance.measure("verdict", { start: began, end: performance.now() });
  };

  /** What is wrong with the settings, where there is nothing to decide. */
  const withoutManifest = async (now: Workspace): Promise<Answer> => {
    const nothing: Answer = { id: 0, code: 0, output: "", errors: "", files: {} };
    return isWritten(text(now, "settings")) ? { ...(await run(["lint", "-o", "json", path(now, "settings")], now)), output: "" } : nothing;
  };

  const lint = async (now: Workspace) => {
    if (!isWritten(text(now, "settings"))) problems.value = [];
    else problems.value = list<Problem>((await run(["lint", "-o", "json", path(now, "settings")], now)).output);
  };

  const explain = async (now: Workspace) => {
    const needed = verdict.value?.decisions.some(({ allowed, warnings }) => allowed === false || warnings.length > 0);
    explanations.value = needed ? list<Explanation>((await run(["explain", "-o", "json", ...options(now)], now)).output) : [];
    explained.value = now;
  };

  const test = async (now: Workspace) => {
    if (!isWritten(text(now, "suite"))) {
      suite.value = null;
      return;
    }
    const answer = await run(["test", "-o", "json", path(now, "suite")], now);
    suite.value = { cases: list<CaseResult>(answer.output), complaint: complaint(answer) };
  };

  watch(workspace, () => {
    changed = performance.now();
    isStale = true;
    void decide();
  });
  engine.ready.then(
    () => {
      isReady.value = true;
      void decide();
    },
    (error: Error) => {
      verdict.value = { decisions: [], complaint: `error: the policy can't be loaded (${error.message}); load the page again`, took: 0 };
    },
  );

  const manifestText = computed(() => text(workspace.value, "manifest"));
  const manifest = computed(() => new YamlText(manifestText.value));
  const marks = computed(() => marksOf(workspace.value, manifest.value, verdict.value, problems.value));
  const isExplained = computed(() => explained.value === workspace.value);
  return { isReady, isBusy, verdict, explanations, isExplained, manifest, suite, marks, ask: (args) => run(args, workspace.value) };
}

/** What a command wrote beside its list. Warnings of settings stand at their lines, too. */
function complaint({ errors }: Answer): string {
  return errors.split("\n").filter((line) => !line.startsWith("warning: ")).join("\n").trim();
}

/** What is to be said of lines: problems of settings, what is no YAML, and images that are rejected. */
function marksOf(workspace: Workspace, manifest: YamlText, verdict: Verdict | null, problems: Problem[]): Partial<Record<Role, Mark[]>> {
  const marks: Partial<Record<Role, Mark[]>> = {};
  const add = (role: Role, mark: Mark) => (marks[role] ??= []).push(mark);
  for (const { line, severity, path, message } of problems) {
    add("settings", { line: line ?? 1, severity: severity === "note" ? "info" : severity, message: `${path}: ${message}` });
  }
  for (const line of verdict?.complaint.split("\n") ?? []) {
    const named = /^error: `([^`]+)`/u.exec(line)?.[1];
    const role = (["settings", "manifest", "images", "cluster", "old", "recording"] as const).find((role) => path(workspace, role) === named);
    if (role === undefined) continue;
    const position = /at line (\d+)/u.exec(line)?.[1];
    add(role, { line: Number(position ?? 1), severity: "error", message: line.replace("error: ", "") });
  }
  const isEach = manifest.objects().length === verdict?.decisions.length;
  verdict?.decisions.forEach(({ images }, index) => {
    for (const image of images) {
      const why = image.notAnImage ?? (image.preScan?.action === "reject" ? image.preScan.rule : image.scan?.denied);
      const line = why === undefined || !isEach ? undefined : manifest.ofPointer(index, image.pointer);
      if (why !== undefined && line !== undefined) add("manifest", { line, severity: "error", message: `${image.image}: ${why}` });
    }
  });
  return marks;
}
