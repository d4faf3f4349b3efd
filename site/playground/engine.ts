// The command line, asked from the page: files and arguments go to the worker, and what it says comes back.

/** Files by their paths. */
export type Files = Record<string, string>;

/** What the worker is asked. */
export interface Question {
  id: number;
  args: string[];
  files: Files;
}

/** What it answers: the command's exit code, standard output and error stream, and the files that it wrote. */
export interface Answer {
  id: number;
  code: number;
  output: string;
  errors: string;
  files: Files;
}

/** A command took too long, and was ended. */
export class Stopped extends Error {}

/** The longest that a command may take, in milliseconds. The engine stops rules itself, far earlier. */
const LONGEST = 10_000;

/** One worker; a new one when a command had to be ended. */
export class Engine {
  /** Resolved when the first worker has loaded the engine. */
  readonly ready: Promise<void>;
  #worker: Worker | null = null;
  #last = 0;
  #queue: Promise<unknown>;

  constructor(private readonly make: () => Worker) {
    this.ready = new Promise((resolve, reject) => {
      this.#worker = this.make();
      this.#worker.addEventListener("message", () => resolve(), { once: true });
      this.#worker.addEventListener("error", (event) => reject(new Error(event.message || "the engine can't be loaded")), { once: true });
    });
    this.#queue = this.ready;
  }

  /** Runs a command, after those before it. Fails with `Stopped` when it takes too long, and with the engine's failure. */
  run(args: string[], files: Files): Promise<Answer> {
    const result = this.#queue.then(() => this.#ask(args, files));
    this.#queue = result.catch(() => undefined);
    return result;
  }

  #ask(args: string[], files: Files): Promise<Answer> {
    const worker = (this.#worker ??= this.make());
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      const over = () => {
        clearTimeout(timer);
        worker.removeEventListener("message", answered);
        worker.removeEventListener("error", failed);
      };
      // What the worker has after a failure can't be relied on.
      const end = (error: Error) => {
        over();
        worker.terminate();
        this.#worker = null;
        reject(error);
      };
      const answered = ({ data }: MessageEvent<Answer>) => {
        if (data.id !== id) return;
        over();
        resolve(data);
      };
      const failed = (event: ErrorEvent) => end(new Error(event.message || "the engine failed"));
      const timer = setTimeout(() => end(new Stopped(`stopped after ${LONGEST / 1000} seconds`)), LONGEST);
      worker.addEventListener("message", answered);
      worker.addEventListener("error", failed);
      worker.postMessage({ id, args, files } satisfies Question);
    });
  }
}
