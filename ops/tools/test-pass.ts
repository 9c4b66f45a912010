/** One pass of the suite in a process of its own, for ops/tools/run-tests.ts, which it sends a `PassResult`. Arguments are vitest's. */
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node';
import { parseCLI, startVitest } from 'vitest/node';

export interface PassResult {
  passed: number;
  failed: string[];
  skipped: { name: string; reason: string }[];
}

const { filter, options } = parseCLI(['vitest', ...process.argv.slice(2)]);
const narrowed = options.testNamePattern !== undefined;

const summary: Reporter = {
  onTestRunEnd(modules, unhandledErrors) {
    process.send?.(summarize(modules, unhandledErrors));
  },
};
const vitest = await startVitest(filter, {
  config: 'ops/tools/vitest.config.ts',
  watch: false,
  passWithNoTests: true,
  ...options,
  reporters: ['default', summary],
});
if (!options.watch) {
  await vitest.close();
  process.disconnect?.();
}

function summarize(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): PassResult {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const skipped = tests.flatMap((test) => {
    const result = test.result();
    // A name pattern skips all other tests; a report would be mostly about them.
    return result.state === 'skipped' && !(narrowed && result.note === undefined)
      ? [{ name: nameOf(test), reason: result.note ?? reasonFor(test) }]
      : [];
  });
  return {
    passed: tests.filter((test) => test.result().state === 'passed').length,
    failed: [
      ...tests.filter((test) => test.result().state === 'failed').map(nameOf),
      ...modules.flatMap(brokenParts),
      ...unhandledErrors.map((error) => `unhandled error: ${error.message}`),
    ],
    skipped,
  };
}

/** Failures outside of tests: a file that does not load, a process that died, a hook around a whole suite. */
function brokenParts(module: TestModule): string[] {
  const unfinished = ['pending', 'queued'].includes(module.state());
  const suites = [...module.children.allSuites()].filter((suite) => suite.errors().length > 0);
  return [
    ...(unfinished ? [`${module.relativeModuleId} (did not finish)`] : []),
    ...(module.errors().length > 0 ? [`${module.relativeModuleId} (outside its tests)`] : []),
    ...suites.map((suite) => `${module.relativeModuleId} > ${suite.fullName} (outside its tests)`),
  ];
}

function nameOf(test: TestCase): string {
  return `${test.module.relativeModuleId} > ${test.fullName}`;
}

function reasonFor(test: TestCase): string {
  if (test.options.mode === 'todo') return 'not written yet';
  return test.options.mode === 'skip' ? 'no reason given' : 'what comes before it failed';
}
