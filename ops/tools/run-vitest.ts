/** Runs vitest in a process of its own, for ops/tools/run-tests.ts, which it sends a `TestResult`. Arguments are vitest's. */
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node';
import { parseCLI, startVitest } from 'vitest/node';

export interface TestResult {
  passed: number;
  failed: string[];
  /** Tests that failed once and passed when they ran again. */
  unsteady: { name: string; error: string }[];
  skipped: { name: string; reason: string }[];
  files: FileResult[];
}

export interface FileResult {
  path: string;
  backplane: string;
  seconds: number;
  /** Processor time of the process that ran the file, without the servers. */
  processorSeconds: number;
  tests: number;
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

function summarize(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): TestResult {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const skipped = tests.flatMap((test) => {
    const result = test.result();
    // A name pattern skips all other tests; a list of those would be noise.
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
    unsteady: tests
      .filter((test) => test.diagnostic()?.flaky)
      .map((test) => ({ name: nameOf(test), error: firstErrorOf(test) })),
    skipped,
    files: modules.map(measure),
  };
}

/** Failures outside any test: a file that does not load or whose process died, or a hook around a suite. */
function brokenParts(module: TestModule): string[] {
  const unfinished = ['pending', 'queued'].includes(module.state());
  const suites = [...module.children.allSuites()].filter((suite) => suite.errors().length > 0);
  return [
    ...(unfinished ? [`${fileName(module)} (did not finish)`] : []),
    ...(module.errors().length > 0 ? [`${fileName(module)} (outside its tests)`] : []),
    ...suites.map((suite) => `${fileName(module)} > ${suite.fullName} (outside its tests)`),
  ];
}

/** Loading a file counts: its imports may take longer than its tests. */
function measure(module: TestModule): FileResult {
  const { duration, collectDuration, setupDuration, prepareDuration, environmentSetupDuration } = module.diagnostic();
  const ms = duration + collectDuration + setupDuration + prepareDuration + environmentSetupDuration;
  return {
    path: module.relativeModuleId,
    backplane: backplaneOf(module),
    seconds: ms / 1000,
    processorSeconds: module.meta().processorSeconds ?? 0,
    tests: [...module.children.allTests()].length,
  };
}

function nameOf(test: TestCase): string {
  return `${fileName(test.module)} > ${test.fullName}`;
}

/** With what Playwright waited for, which it tells below the message, and with the line of the test. */
function firstErrorOf(test: TestCase): string {
  const { message = '', diff = '', stacks = [] } = test.result().errors?.[0] ?? {};
  const [said, ...more] = message.split('\n');
  const waits = more.map((line) => stripVTControlCharacters(line).trim()).filter((line) => line.startsWith('- '));
  const [place] = stacks.map(({ file, line }) => `at ${relative(process.cwd(), file)}:${line}`);
  const lines = [said, ...waits.slice(0, 3), ...diff.split('\n').slice(0, 30), place];
  return lines.filter((line) => line).join('\n    ');
}

function fileName(module: TestModule): string {
  return `${backplaneOf(module)}: ${module.relativeModuleId}`;
}

function backplaneOf({ project }: TestModule): string {
  return project.config.env.GANTRY_TEST_BACKPLANE ?? '';
}

function reasonFor(test: TestCase): string {
  if (test.options.mode === 'todo') return 'not written yet';
  return test.options.mode === 'skip' ? 'no reason given' : 'what comes before it failed';
}
