import { code, graph, noop } from '#test/support/graphs.ts';

type Graph = ReturnType<typeof graph>;

/** A run during which a worker dies, and what it must come to. */
export interface Scenario {
  graph(service: string, childWorkflowID: string): Graph;
  output: unknown;
  /** Paths of the calls, with how often each is made without a crash. */
  calls: Readonly<Record<string, number>>;
  /** How many iterations make the calls, if a body does. */
  iterations?: number;
  /** About how many statements and calls there are; the sample is drawn from so many. */
  points: number;
  settings?: Record<string, string>;
  /** The worker is stopped by SIGTERM as soon as this call has come; the call is not answered. */
  stopAt?: string;
  /** Other runs of the same workflow, so that there is no slot for all of them. */
  others?: number;
  /** How long a call takes. */
  callMs?: number;
}

const call = (service: string, path: string) => ({
  type: 'http',
  method: 'POST',
  url: `${service}${path}`,
  retryLimit: 2,
  retryDelaySeconds: 0.05,
});
const question = { type: 'dataCollection', fields: [{ key: 'answer', fieldType: 'number' }] };
const child = (childWorkflowID: string) => ({ type: 'subWorkflow', childWorkflowID });
/** Longer than a worker keeps a run that only waits. */
const delay = { type: 'delay', delaySeconds: 2, delayMs: 50 };
const end = (value: string) => ({ type: 'end', outputParameters: [{ name: 'value', sourceVariable: `{{${value}}}` }] });

/** The workflow of the child runs: one call. */
export function childGraph(service: string): Graph {
  return graph({ start: { type: 'start' }, inner: call(service, '/inner') }, ['start>inner']);
}

export const scenarios = {
  /** Every kind of wait, one after the other, so that the run parks for each. The first call fails at first. */
  'in turn': {
    graph: (service, childWorkflowID) =>
      graph(
        {
          start: { type: 'start' },
          first: call(service, '/fails-once'),
          sum: code('return 40 + 2;'),
          wait: delay,
          ask: question,
          sub: child(childWorkflowID),
          last: call(service, '/last'),
          end: end('ctx.scriptResult'),
        },
        [
          'start>first',
          'first:success>sum',
          'sum:success>wait',
          'wait>ask',
          'ask>sub',
          'sub:success>last',
          'last:success>end',
        ],
      ),
    output: { value: 42 },
    calls: { '/fails-once': 2, '/last': 1, '/inner': 1 },
    points: 44,
  },
  /** The same at once, so that waits begin and end while the run is held. */
  'at once': {
    graph: (service, childWorkflowID) =>
      graph(
        {
          start: { type: 'start' },
          first: call(service, '/fails-once'),
          wait: delay,
          short: { type: 'delay', delayMs: 200 },
          ask: question,
          sub: child(childWorkflowID),
          join: noop,
          end: end('ctx.collectedData.answer'),
        },
        [
          ...['first', 'wait', 'short', 'ask', 'sub'].map((id) => `start>${id}`),
          ...['first:success', 'wait', 'short', 'ask', 'sub:success'].map((from) => `${from}>join`),
          'join:yes>end',
        ],
      ),
    output: { value: 7 },
    calls: { '/fails-once': 2, '/inner': 1 },
    points: 34,
  },
  /** A loop with a pause between its items, whose body calls, waits for a person and goes on in another loop. */
  'in a loop': {
    graph: (service) =>
      graph(
        {
          start: { type: 'start' },
          loop: { type: 'loop', sourceVariable: [1, 2], delayBetweenItems: 10 },
          each: call(service, '/each'),
          ask: question,
          inner: { type: 'loop', sourceVariable: '{{ctx.collectedData.answer}}', outputVariable: 'sums' },
          sum: code('return ctx.item + ctx.index;'),
          end: end('ctx.loopResults'),
        },
        ['start>loop', 'loop:loop>each', 'each:success>ask', 'ask>inner', 'inner:loop>sum', 'loop:completed>end'],
      ),
    output: { value: [[7], [7]] },
    calls: { '/each': 1 },
    iterations: 2,
    points: 40,
  },
  /** Large outputs that no worker has room for: nodes of each holder read them from their rows. */
  'with large outputs': {
    graph: (service) =>
      graph(
        {
          start: { type: 'start' },
          large: { ...code(`return { n: 1, text: 'x'.repeat(100_000) };`), outputVariable: 'large' },
          first: { ...call(service, '/first'), body: { n: '{{ctx.large.n}}' } },
          ask: question,
          copy: { ...code('return { of: ctx.large };'), outputVariable: 'copy' },
          last: { ...call(service, '/last'), body: { n: '{{ctx.copy.of.n}}' } },
          size: { ...code('return ctx.copy.of.text.length + ctx.large.n;'), outputVariable: 'size' },
          end: end('ctx.size'),
        },
        [
          'start>large',
          'large:success>first',
          'first:success>ask',
          'ask>copy',
          'copy:success>last',
          'last:success>size',
          'size:success>end',
        ],
      ),
    output: { value: 100_001 },
    calls: { '/first': 1, '/last': 1 },
    points: 30,
    settings: { HELD_RUNS_MAX_BYTES: '1000' },
  },
  /** A worker that hands back its run at SIGTERM. */
  stopped: {
    graph: (service) =>
      graph({ start: { type: 'start' }, first: call(service, '/first'), end: end('ctx.input.n') }, [
        'start>first',
        'first:success>end',
      ]),
    output: { value: 1 },
    calls: { '/first': 1 },
    points: 6,
    stopAt: '/first',
  },
  /** Runs that yield after their quantum, because others wait. */
  yielding: {
    graph: (service) =>
      graph(
        {
          start: { type: 'start' },
          a: call(service, '/a'),
          b: call(service, '/b'),
          c: call(service, '/c'),
          end: end('ctx.input.n'),
        },
        ['start>a', 'a:success>b', 'b:success>c', 'c:success>end'],
      ),
    output: { value: 1 },
    calls: { '/a': 1, '/b': 1, '/c': 1 },
    points: 16,
    settings: { WORKER_SLOTS: '1' },
    others: 3,
    callMs: 550,
  },
} as const satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof scenarios;
