import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { type BackplaneName, longestFirst, measuring, notOn, root } from './test-files.ts';

/** Set by run-tests.ts: the backplanes of this run, one or both. */
const backplanes = (process.env.GANTRY_TEST_BACKPLANES ?? 'postgres').split(',') as BackplaneName[];

/** A process serves files of one project only. In most, it serves many: loading our code anew for each took half of all time. */
const projects = backplanes.flatMap((backplane) => {
  const env = { GANTRY_TEST_BACKPLANE: backplane };
  // A run on one backplane has all files on it.
  const exclude = backplanes.length > 1 ? notOn(backplane) : [];
  return [
    { name: `${backplane}, alone`, env, include: [...measuring], exclude, isolate: true },
    {
      name: backplane,
      env,
      include: ['test/**/*.test.ts'],
      exclude: [...exclude, ...measuring],
      isolate: false,
    },
  ];
});

class LongestFirst extends BaseSequencer {
  /** Within one rank, vitest's own order stays: by the durations of the last run, or else by the sizes of the files. */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => rank(a) - rank(b));
  }
}

function rank({ project, moduleId }: TestSpecification): number {
  const nth = projects.findIndex(({ name }) => name === project.name);
  const at = longestFirst.findIndex((file) => moduleId === join(root, file));
  return nth * (longestFirst.length + 1) + (at < 0 ? longestFirst.length : at);
}

/** A failure that names a seed is not tried again: another try would draw other cases, and hide what was found. */
const namesNoSeed = /^(?!.*\bseed\b)/is;

export default defineConfig({
  test: {
    root,
    globalSetup: ['test/setup/global.ts'],
    setupFiles: ['test/setup/processor-time.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    retry: { count: 1, condition: namesNoSeed },
    // As long as `eventually` of test/support/settle.ts waits. The default of a second is too short for a busy machine.
    expect: { poll: { timeout: 90_000 } },
    pool: 'forks',
    // In MB. 281 tests took 92 s of processor time with it, and 97 to 100 s with the default of 16.
    execArgv: ['--max-semi-space-size=64'],
    // Twice the processors of a usual machine: half of the files mostly wait. With 3 a whole run took 981 s, with 4 and cheaper tests 773 s.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    // Node loads our TypeScript itself, as in production.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    projects: projects.map((test) => ({ extends: true, test })),
  },
});
