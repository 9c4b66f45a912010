/** Replays of events and plans of runs in words. */
import { expect, test } from 'vitest';
import { cardsOf, filledConfig, planOf, summaryOfPlan } from '#ops/console/plan/planned.ts';
import { differencesOf, verdictOf } from '#ops/console/replay/replayed.ts';
import { draft, kinds } from './drafts.ts';

const run = (status: string, message?: string) => ({
  ...{ instanceID: '1', versionID: '2', status },
  error: message ? { code: 'NODE_FAILED', message, nodeID: 'b' } : null,
});
const ended = (status: string, exit: string | null, message?: string) => ({
  ...{ status, exit },
  error: message ? { code: 'NODE_FAILED', message } : null,
});
const outcome = (nodeID: string, state: string, more: object = {}) => ({
  ...{ nodeID, frame: [], state, before: null, after: null, changes: [], ...more },
});

/** A replay with these outcomes of steps. */
function shadow(
  nodes: object[],
  { output = [], after = run('COMPLETED') }: { output?: object[]; after?: object } = {},
) {
  const diff = { nodes, isCut: false, output };
  return { eventID: '3', original: run('COMPLETED'), shadow: after, diff } as never as Parameters<typeof verdictOf>[0];
}

test('a replay is the same, differs by steps or by its end, and says how many writes it did not make', () => {
  const refused = outcome('save', 'refused', { refusedWrite: 'POST https://x.test' });
  const same = outcome('a', 'same');
  expect(verdictOf(shadow([same]))).toEqual({ word: 'The same', tone: 'ok' });
  expect(verdictOf(shadow([same, refused]))?.word).toBe('The same, 1 write not made');
  expect(verdictOf(shadow([outcome('a', 'changed'), outcome('a', 'changed'), refused]))?.word).toBe(
    '1 step differs, 1 write not made',
  );
  expect(verdictOf(shadow([same], { output: [{ path: [] }] }))?.word).toBe('The output differs');
  expect(verdictOf(shadow([same], { after: run('FAILED') }))).toEqual({ word: 'completed → failed', tone: 'bad' });
  expect(verdictOf({ ...shadow([]), diff: null })).toBeUndefined();
});

test('differences are told step by step, from what to what', () => {
  const changed = outcome('b', 'changed', {
    ...{ frame: [{ nodeID: 'loop', iteration: 1 }], before: ended('SUCCESS', 'success') },
    ...{ after: ended('FAILED', null, 'no luck'), changes: [{ path: ['n'], from: 1, toLength: 5_000 }] },
  });
  const given = shadow([outcome('a', 'onlyBefore'), changed], { after: run('FAILED', 'no luck') });
  const diff = given.diff ?? { nodes: [], isCut: false, output: [] };
  expect(
    differencesOf(diff, given).map(({ nodeID, iteration, what, from, to }) => [nodeID, iteration, what, from, to]),
  ).toEqual([
    ['a', '', 'step', 'was run', 'not reached'],
    ['b', '2', 'how it ended', 'success, left by “success”', 'failed'],
    ['b', '2', 'error', undefined, 'no luck'],
    ['b', '2', 'n', '1', '5,000 characters, too many to be shown'],
    [null, '', 'status', 'completed', 'failed: no luck'],
  ]);
});

test('cards say whether their steps would run, and why not; configs have the values that follow from the input', () => {
  const graph = draft({ start: 'start', decide: 'condition', ask: 'http', other: 'log', later: 'log' }, [
    'start>decide',
    'decide.yes>ask',
    'decide.default>other',
    'ask>later',
    'other>later',
  ]);
  const plan = planOf(
    {
      ...{ versionID: '1', versionNumber: 2, problems: [], edges: [{ edgeID: 'e0', isTaken: 'yes' }] },
      nodes: [
        { nodeID: 'start', kind: 'start', isReached: 'yes', exit: 'output' },
        { nodeID: 'decide', kind: 'condition', isReached: 'yes', exit: 'yes' },
        {
          ...{ nodeID: 'ask', kind: 'http', isReached: 'yes', error: { code: 'X', message: 'no such host' } },
          values: [{ path: 'headers.0.value', value: 7 }],
        },
        { nodeID: 'other', kind: 'log', isReached: 'no' },
        { nodeID: 'later', kind: 'log', isReached: 'depends', dependsOn: [{ nodeID: 'ask', on: 'failure' }] },
      ],
    },
    {},
  );
  expect(summaryOfPlan(plan)).toBe('3 steps would run, 1 may run, 1 would not.');
  const cards = cardsOf(plan, { graph, kinds, nameOf: (id) => id.toUpperCase() });
  expect([...cards].map(([id, { word, reason }]) => [id, word, reason])).toEqual([
    ['start', 'Would run', undefined],
    ['decide', 'Would run', undefined],
    ['ask', 'Would fail', 'no such host'],
    ['other', 'Would not', '“DECIDE” leads on by “yes”'],
    ['later', 'May run', 'depends on whether “ASK” fails'],
  ]);
  const step = plan.steps.get('ask');
  expect(step && filledConfig({ url: 'x', headers: [{ value: '{{ctx.input.n}}' }] }, step)).toEqual({
    url: 'x',
    headers: [{ value: 7 }],
  });
});
