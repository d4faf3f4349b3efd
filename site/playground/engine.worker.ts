// The policy's engine, in a thread of its own: a rule that loops doesn't stop the page.

import start, { command } from "../../target/playground-module/image_admission_playground.js";
import module from "../../target/playground-module/image_admission_playground_bg.wasm?url";
import type { Answer, Files, Question } from "./engine";

const ready = start({ module_or_path: module });

addEventListener("message", async ({ data: { id, args, files } }: MessageEvent<Question>) => {
  await ready;
  const outcome = command(args, Object.entries(files).flat());
  const { code, output, errors, files: paired } = outcome;
  outcome.free();
  const written: Files = {};
  for (let index = 0; index + 1 < paired.length; index += 2) written[paired[index]!] = paired[index + 1]!;
  const answer: Answer = { id, code, output, errors, files: written };
  postMessage(answer);
});

ready.then(
  () => postMessage("ready"),
  // A promise that fails is no failure of the worker; what is thrown outside of one is.
  (error) => setTimeout(() => {
    throw error;
  }),
);
