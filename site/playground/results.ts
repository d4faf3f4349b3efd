// What the command line says in JSON, as types. `npm run check` compares them with what it really says.

/** The list that a command wrote; none where it wrote something else. */
export function list<Entry>(output: string): Entry[] {
  try {
    const found: unknown = JSON.parse(output);
    return Array.isArray(found) ? (found as Entry[]) : [];
  } catch {
    return [];
  }
}

/** A decision: an entry of `image-admission run -o json`. */
export interface Decision {
  request: { kind: string; namespace: string; name: string; operation: string; subResource?: string };
  /** Absent when there is no answer. */
  allowed?: boolean;
  /** Why there is none. */
  error?: string;
  message?: string;
  code?: number;
  warnings: string[];
  auditAnnotations: Record<string, string>;
  images: Image[];
  mutatedObject?: unknown;
  /** What these rules say against the object as a whole. */
  preCustomRules?: string[];
  /** What policies of `imageVerification` said. */
  verification?: Verification[];
  /** What policies of `regoPolicies` said. */
  policies?: RegoPolicy[];
}

export interface Verification {
  name: string;
  action: string;
  holds: boolean;
  message?: string;
  /** By image, who vouched for it. */
  verified?: Record<string, string[]>;
  annotations?: Record<string, string>;
  ignored?: string[];
}

export interface RegoPolicy {
  name: string;
  denials?: string[];
  warnings?: string[];
  error?: string;
}

export interface Rule {
  action: string;
  rule: string;
}

export interface Image {
  image: string;
  canonicalName?: string;
  container: string;
  /** Where in the object, as a JSON pointer. */
  pointer: string;
  notAnImage?: string;
  preScan?: Rule;
  scan?: Partial<Rule> & { report?: Report; denied?: string; custom?: string[]; warning?: string };
  /** By policy of `imageVerification`, who vouched for it. */
  verified?: Record<string, string[]>;
  pinned?: string;
  /** What came of it, in words. */
  result: string;
}

export interface Report {
  status: string;
  state: string;
  reason: string;
  digest: string | null;
  source: string | null;
  platforms: Platform[];
  exemptions: string[];
  vex: string[];
  warnings: string[];
}

export interface Platform {
  platform: string | null;
  digest: string;
  status: string;
  state: string;
  reason: string;
  time: string | null;
  reports: string[];
}

/** An entry of `image-admission explain -o json`. */
export interface Explanation {
  request: string;
  allowed: boolean;
  causes: Cause[];
  waiting?: Cause[];
  change: Change | null;
  stuck?: { edits: Edit[]; still: string };
  warnings?: string[];
  unanswered?: string;
  /** Whom to ask, where the setting `message` says so. */
  contact?: string;
}

export interface Cause {
  image: string | null;
  where?: string[];
  why: string;
  decidedBy: { path: string; value: unknown; isDefault: boolean }[];
  advice: string[];
}

export interface Change {
  edits: Edit[];
  settings: Record<string, unknown>;
}

export interface Edit {
  path: string;
  set?: unknown;
  prepend?: unknown;
  append?: unknown;
  opens: string;
  copies?: string;
  replaces?: string;
}

/** A problem of settings: an entry of `image-admission lint -o json`. */
export interface Problem {
  file: string;
  line?: number;
  column?: number;
  rule: string;
  severity: "note" | "warning" | "error";
  path: string;
  message: string;
  fixable: boolean;
}

/** A case of a suite: an entry of `image-admission test -o json`. */
export interface CaseResult {
  location: { file: string; row?: number };
  suite?: string;
  package?: string;
  name: string;
  fail?: boolean;
  skip?: boolean;
  error?: { message: string };
  reason?: string;
  duration: number;
  output?: string[];
}

/** A policy of `imageVerification`: an entry of `image-admission eval --show expressions`. */
export interface EvaluatedPolicy {
  policy: string;
  isAbout: boolean;
  /** Why it isn't. */
  whyNot?: string;
  holds?: boolean;
  message?: string;
  /** What couldn't be asked, and counts as though it were as it should be. */
  ignored?: string[];
  expressions: EvaluatedExpression[];
}

export interface EvaluatedExpression {
  path: string;
  name?: string;
  text: string;
  /** The image that it was evaluated for, by the name `ref`. */
  image?: string;
  seesOldObject?: boolean;
  notEvaluated?: boolean;
  value?: unknown;
  error?: EvaluationError;
  /** What it refers to, by name. */
  saw?: Record<string, unknown>;
  /** What it refers to that isn't there. */
  absent?: string[];
  calls?: Call[];
  /** Why the policy couldn't be deployed with it. */
  problems?: string[];
}

export interface Call {
  function: string;
  arguments: unknown[];
  answer?: unknown;
  error?: EvaluationError;
}

export interface EvaluationError {
  kind: string;
  message: string;
}
