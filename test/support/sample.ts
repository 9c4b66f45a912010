import { createRandom } from '../chaos/random.ts';

/** `npm run test:all` takes every generated case; `npm test` takes a sample, another one each time. */
export const takesAll = process.env.GANTRY_TEST_ALL === 'true';

/** `npm test` draws it once for all files, prints it when a test fails, and repeats a run with `TEST_SEED=<seed>`. */
export const sampleSeed = Number(process.env.TEST_SEED ?? 1);

/**
 * One of so many cases, at even distances. The seed and the name decide where the first is, so that two lists of the same cases under
 * other names meet other ones, and every case is met within some runs.
 */
export function sample<T>(cases: readonly T[], { name, oneOf }: { name: string; oneOf: number }): readonly T[] {
  if (takesAll || oneOf <= 1) return cases;
  const first = createRandom(seedOf(name)).between(0, Math.min(oneOf, cases.length) - 1);
  return cases.filter((_, nth) => nth % oneOf === first);
}

/** How often a property is checked that takes long: with other values each time, which the error repeats by its seed. */
export function runsOf(name: string, { all, sampled }: { all: number; sampled: number }) {
  return { numRuns: takesAll ? all : sampled, seed: seedOf(name) };
}

/** The seed of generated cases of this name. */
export function seedOf(name: string): number {
  let seed = sampleSeed;
  for (const letter of name) seed = (Math.imul(seed, 31) + letter.charCodeAt(0)) | 0;
  return seed;
}
