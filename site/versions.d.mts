// What TypeScript knows of versions.mjs, which is JavaScript so that Node runs it without a build.

/** Writes what stands above the versions for the folders `v<version>` of a folder. */
export function writeVersions(folder: string): void;
