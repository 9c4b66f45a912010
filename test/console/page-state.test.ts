import { describe, expect, test } from 'vitest';
import { readInParts } from '#ops/console/apps/in-parts.ts';
import { readingOnly } from '#ops/console/apps/reading-only.ts';
import { paramsOf } from '#ops/console/apps/view.ts';
import { gridOf, layoutOf, readingOrder, spansOf } from '#ops/console/page/layout/tree.ts';
import type { Answer, Listening, PageClient, Push, RunState, Wanted } from '#ops/console/page/state/client.ts';
import { type PageContent, propertiesID } from '#ops/console/page/state/page-content.ts';
import { PageState } from '#ops/console/page/state/page-state.ts';
import { remainingRows } from '#ops/console/page/widgets/display/chosen.ts';
import { csvOf } from '#ops/console/page/widgets/display/csv.ts';
import { changesOf, kindOfField } from '#ops/console/page/widgets/display/row-values.ts';

const widgetKey = (suffix: string) => `widget_0193e0a0-0000-7000-8000-000000000001_${suffix}`;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Asked {
  wanted: readonly Wanted[];
  signal: AbortSignal;
  answer(at: number, data: unknown): void;
  end(error?: Error): void;
}

/** A page whose server is this test. */
function open(
  config: Record<string, unknown>,
  widgets: Partial<PageContent['widgets'][number]>[] = [],
  remembered: unknown = null,
  run: () => Promise<unknown> = async () => 'code',
  edited?: { writing: readonly string[] },
) {
  const requests: Asked[] = [];
  const opened: string[] = [];
  const pushes: ((push: Push) => void)[] = [];
  const rooms: Omit<Listening, 'onPush'>[] = [];
  const runs: { instanceID: string | undefined; inputs: unknown; tell(state: Partial<RunState>): void }[] = [];
  let memory = remembered;
  const client: PageClient = {
    read: (wanted, onAnswer, signal) =>
      new Promise((resolve, reject) => {
        requests.push({
          ...{ wanted, signal },
          answer: (at, data) => onAnswer({ at, answer: { data } } as Answer),
          end: (error) => (error ? reject(error) : resolve()),
        });
      }),
    runQuery: async (queryID, inputs) => ({ data: { queryID, inputs } }),
    watchRun({ instanceID, inputs }, onState) {
      const first: RunState = {
        instanceID: instanceID ?? '',
        status: 'PENDING',
        output: null,
        error: null,
        steps: [],
        questionID: null,
      };
      runs.push({ instanceID, inputs, tell: (state) => onState({ ...first, ...state }) });
      onState(first);
      return () => undefined;
    },
    readInputs: async (workflow) => [{ key: 'reason', type: 'string', title: JSON.stringify(workflow) }],
    upload: () => Promise.reject(new Error('not here')),
    fileAddress: async (src) => src,
    openPage: () => undefined,
    openRun: (instanceID) => opened.push(`run ${instanceID}`),
    stopRun: async (instanceID) => void opened.push(`stop ${instanceID}`),
    rerun: async (instanceID) => `${instanceID} again`,
    listen({ onPush, ...room }) {
      pushes.push(onPush);
      rooms.push(room);
      return () => undefined;
    },
    origin: 'https://gantry.example',
    openAddress: (url) => opened.push(url),
    copy: async () => undefined,
    saveFile: () => undefined,
    isInView: () => true,
  };
  const content: PageContent = {
    ...{ id: 'p', title: 'A page', config, viewer: { email: 'ada@example.com' }, params: { id: '7' } },
    widgets: widgets.map((widget) => ({
      widgetKey: widgetKey('a'),
      widgetTitle: '',
      widgetType: 'text',
      widgetConfig: {},
      refreshInterval: 0,
      error: null,
      ...widget,
    })),
  };
  const reading = readingOnly(client, {
    queriesOf: (wanted) => (wanted.kind === 'query' ? [wanted.alias] : ['of a widget']),
    isReadOnly: async (id) => !edited?.writing.includes(id),
  });
  const page = new PageState(content, {
    client: edited ? reading : client,
    isStill: edited !== undefined,
    code: { run },
    memory: {
      get: () => memory,
      set: (value) => {
        memory = value;
      },
    },
  });
  page.open();
  return { page, requests, runs, opened, pushes, rooms, remembered: () => memory };
}

const query = (alias: string, more: object = {}) => ({ alias, type: 'query', queryID: alias, ...more });

describe('the data of a page', () => {
  test('what is read at opening goes in one request, and the answers come one by one', async () => {
    const own = { widgetConfig: { dataQueries: [{ dataQueryID: 'q', inputValues: { day: '{{state.day}}' } }] } };
    const { page, requests } = open(
      {
        variables: [{ key: 'day', defaultValue: 'monday' }],
        dataSources: [
          query('a', { inputValues: { fixed: 1, day: '{{variables.day}}', id: '{{page.params.id}}' } }),
          query('b'),
          query('c', { triggerMode: 'manual' }),
        ],
      },
      [own],
    );
    await pause(5);
    expect(requests.length).toBe(1);
    expect(requests[0]?.wanted).toEqual([
      { kind: 'query', alias: 'a', inputValues: { day: 'monday', id: '7' } },
      { kind: 'query', alias: 'b', inputValues: {} },
      { kind: 'widget', widgetKey: widgetKey('a'), state: { day: 'monday' } },
    ]);
    requests[0]?.answer(1, [1]);
    expect(page.bindings.get('queries', 'b')).toMatchObject({ status: 'ready', data: [1] });
    expect(page.bindings.get('queries', 'a')).toMatchObject({ status: 'loading', data: undefined });
    requests[0]?.answer(2, ['own']);
    expect(page.bindings.get('widgets', 'a')).toMatchObject({ data: ['own'] });
    // A query without an answer at the end has failed; it says why the request did.
    requests[0]?.end(new Error('The server is away'));
    await pause(5);
    expect(page.bindings.get('queries', 'a')).toMatchObject({
      status: 'failed',
      error: { message: 'The server is away' },
    });
    expect(page.bindings.get('queries', 'b')).toMatchObject({ status: 'ready' });
    page.close();
  });

  test('a change of inputs reads again what is reactive, older answers are dropped, and shown data are old until the new ones come', async () => {
    const { page, requests } = open({
      variables: [
        { key: 'day', defaultValue: 1 },
        { key: 'other', defaultValue: 1 },
      ],
      dataSources: [
        query('reactive', { triggerMode: 'reactive', inputValues: { day: '{{variables.day}}' } }),
        query('named', { refreshOn: ['variables.other'] }),
        query('auto', { inputValues: { day: '{{variables.day}}' } }),
      ],
    });
    await pause(5);
    const [first] = requests;
    for (const at of [0, 1, 2]) first?.answer(at, 'first');
    page.setVariable('day', 2);
    page.setVariable('day', 3);
    await expect.poll(() => requests.length).toBe(2);
    expect(requests.map(({ wanted }) => wanted.map((one) => 'alias' in one && one.alias))).toEqual([
      ['reactive', 'named', 'auto'],
      ['reactive'],
    ]);
    expect(page.bindings.get('queries', 'reactive')).toMatchObject({ data: 'first', isStale: true, isLoading: true });
    page.setVariable('other', 2);
    page.setVariable('day', 4);
    await expect.poll(() => requests[2]?.wanted.length).toBe(2);
    const at = requests[2]?.wanted.findIndex((one) => 'alias' in one && one.alias === 'reactive') ?? -1;
    requests[2]?.answer(at, 'third');
    requests[1]?.answer(0, 'second, late');
    expect(page.bindings.get('queries', 'reactive')).toMatchObject({ data: 'third', isStale: false });
    page.close();
    page.setVariable('day', 5);
    await pause(250);
    expect(requests.length).toBe(3);
  });

  test('an input that cannot be computed fails its query alone, and nothing is sent for it', async () => {
    const { page, requests } = open({
      dataSources: [query('a', { inputValues: { x: '{{variables.none}}' } }), query('b')],
    });
    await pause(5);
    expect(requests[0]?.wanted.map((one) => 'alias' in one && one.alias)).toEqual(['b']);
    expect(page.bindings.get('queries', 'a')).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('variables.none') },
    });
    page.close();
  });

  test('a change of the inputs of a query that runs by actions does not run it again while it runs', async () => {
    const { page, requests } = open({
      variables: [{ key: 'name', defaultValue: 'Ada' }],
      dataSources: [query('save', { triggerMode: 'manual', inputValues: { name: '{{variables.name}}' } })],
    });
    const saved = page.sources.run('save', { given: {}, event: {} });
    await expect.poll(() => requests.length).toBe(1);
    page.setVariable('name', 'Ada L');
    await pause(20);
    expect(requests.length).toBe(1);
    requests[0]?.answer(0, ['saved']);
    expect(await saved).toMatchObject({ data: ['saved'] });
    page.close();
  });

  test('each call of a query by an action is a request of its own, and is told the answer to that', async () => {
    const inputValues = { name: '{{event.name}}', day: '{{variables.day}}' };
    const { page, requests } = open({
      variables: [{ key: 'day', defaultValue: 1 }],
      dataSources: [query('add', { triggerMode: 'reactive', inputValues })],
    });
    const calls = ['Ada', 'Bob'].map((name) => page.sources.run('add', { given: {}, event: { name } }));
    const namesSent = () => requests.flatMap(({ wanted }) => wanted.map((one) => 'alias' in one && one.inputValues));
    await expect.poll(() => requests.length).toBe(1);
    page.setVariable('day', 2);
    await pause(250);
    expect(namesSent()).toEqual([{ name: 'Ada', day: 1 }]);
    requests[0]?.answer(0, 'Ada is in');
    await expect.poll(() => requests.length).toBe(2);
    expect(namesSent()[1]).toEqual({ name: 'Bob', day: 1 });
    requests[1]?.answer(0, 'Bob is in');
    expect((await Promise.all(calls)).map(({ data }) => data)).toEqual(['Ada is in', 'Bob is in']);
    page.close();
  });

  test('what wants a query while an action waits for it is read after that', async () => {
    const { page, requests } = open({
      variables: [{ key: 'day', defaultValue: 1 }],
      dataSources: [query('a', { triggerMode: 'reactive', inputValues: { day: '{{variables.day}}' } })],
    });
    const call = page.sources.run('a', { given: { day: 9 }, event: {} });
    await expect.poll(() => requests.length).toBe(1);
    page.setVariable('day', 2);
    await pause(0);
    requests[0]?.answer(0, 'of the action');
    expect(await call).toMatchObject({ data: 'of the action' });
    await expect.poll(() => requests[1]?.wanted).toEqual([{ kind: 'query', alias: 'a', inputValues: { day: 2 } }]);
    page.close();
  });

  test('a query that is manual runs by actions alone: no name, interval or widget that shows it runs it', async () => {
    const save = query('save', { triggerMode: 'manual', refreshOn: ['variables.n'], refetchInterval: 1 });
    const live = { alias: 'live', type: 'listener', listenerID: 'l', channelName: 'orders' };
    const properties = { isDisabled: '{{queries.save.isLoading}}', label: '{{queries.all.data}}{{queries.live.data}}' };
    const { page, requests } = open(
      { variables: [{ key: 'n', defaultValue: 1 }], dataSources: [save, live, query('all')] },
      [{ widgetType: 'button', widgetConfig: { properties } }],
    );
    const sent = () => requests.map(({ wanted }) => wanted.map((one) => 'alias' in one && one.alias));
    await expect.poll(sent).toEqual([['all']]);
    requests[0]?.answer(0, 1);
    const saved = page.sources.run('save', { given: {}, event: {} });
    await expect.poll(() => requests.length).toBe(2);
    requests[1]?.answer(0, 'saved');
    await saved;
    page.setVariable('n', 2);
    await page.refresh(widgetKey('a'));
    await pause(1_200);
    expect(sent()).toEqual([['all'], ['save'], ['all']]);
    // A widget has the states of the others alone: while an action runs, its button stays.
    expect(page.namedQueries(widgetKey('a'))).toEqual(['all', 'live']);
    page.close();
  });

  test('data that change all the time do not keep a query from being sent, nor its answers from being shown', async () => {
    const live = { alias: 'live', type: 'listener', listenerID: 'l', channelName: 'orders' };
    const named = query('a', { triggerMode: 'reactive', inputValues: { last: '{{queries.live.data}}' } });
    const { page, requests, pushes } = open({ dataSources: [live, named] });
    let count = 0;
    const push = () => {
      count += 1;
      pushes[0]?.({ channelName: 'orders', data: count, mode: 'replace', limit: null });
    };
    await expect.poll(() => requests.length).toBe(1);
    const timer = setInterval(push, 20);
    await expect.poll(() => requests.length, { timeout: 10_000 }).toBe(2);
    push();
    await pause(0);
    requests[1]?.answer(0, 'second');
    requests[0]?.answer(0, 'first, late');
    clearInterval(timer);
    expect(page.bindings.get('queries', 'a')).toMatchObject({ data: 'second', isStale: true, isLoading: true });
    page.close();
  });

  test('a query waits for code in its inputs, and is sent with what that gives', async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const dataSources = [query('a', { inputValues: { x: '{{(() => 1)()}}' } }), query('b')];
    const { page, requests } = open({ dataSources }, [], null, () => promise);
    await expect.poll(() => requests.map(({ wanted }) => wanted.length)).toEqual([1]);
    resolve('code');
    await expect.poll(() => requests[1]?.wanted).toEqual([{ kind: 'query', alias: 'a', inputValues: { x: 'code' } }]);
    page.close();
  });
});

describe('data of a page that is edited', () => {
  const edited = (writing: string[], dataSources: object[]) =>
    open({ dataSources }, [], null, async () => 'code', { writing });
  const namesOf = ({ wanted }: Asked) => wanted.map((one) => ('alias' in one ? one.alias : one.widgetKey));

  test('runs no query that may change something, and says so; the answers of the others come to their own', async () => {
    const { page, requests } = edited(['write'], [query('write'), query('a'), query('b')]);
    await expect.poll(() => requests.map(namesOf)).toEqual([['a', 'b']]);
    requests[0]?.answer(1, 'of b');
    expect(page.bindings.get('queries', 'b')).toMatchObject({ data: 'of b' });
    expect(page.bindings.get('queries', 'write')).toMatchObject({ status: 'failed', error: { code: 'NOT_RUN' } });
    page.close();
  });

  test('does not end a request of which another source is still there', async () => {
    const { page, requests } = edited([], [query('a'), query('b')]);
    await expect.poll(() => requests.length).toBe(1);
    page.update({ ...page.content.get(), config: { dataSources: [query('b')] } });
    expect(requests[0]?.signal.aborted).toBe(false);
    requests[0]?.answer(1, 'of b');
    expect(page.bindings.get('queries', 'b')).toMatchObject({ data: 'of b' });
    page.close();
  });
});

test('a listener whose data the viewer may not have is refused and not empty; what was sent before is old, and both end', () => {
  const live = { alias: 'live', type: 'listener', listenerID: 'l', channelName: 'orders' };
  const { page, pushes, rooms } = open({ dataSources: [live] });
  const shown = () => page.query('live')?.get();
  const error = { code: 'PERMISSION_DENIED', message: 'Not for you' };
  rooms[0]?.onRefused(error);
  expect(shown()).toMatchObject({ data: undefined, status: 'failed', isStale: false, error });
  expect(page.bindings.get('queries', 'live')).toMatchObject({ error });
  page.update({ ...page.content.get(), config: { dataSources: [live, { ...live, alias: 'later' }] } });
  expect(page.query('later')?.get()).toMatchObject({ data: undefined, error });
  rooms[0]?.onAllowed();
  expect(shown()).toMatchObject({ data: [], status: 'ready', error: null });
  pushes[0]?.({ channelName: 'orders', data: 1, mode: 'append', limit: null });
  rooms[0]?.onRefused(error);
  expect(shown()).toMatchObject({ data: [1], status: 'failed', isStale: true, error });
  page.close();
});

test('data that a listener sends stand among those of queries, appended up to a number or in place of those before', () => {
  const { page, pushes } = open({
    dataSources: [{ alias: 'live', type: 'listener', listenerID: 'l', channelName: 'orders' }],
  });
  const shown = () => page.bindings.get('queries', 'live');
  expect(shown()).toMatchObject({ data: [], status: 'ready' });
  for (const data of [1, 2, 3]) pushes[0]?.({ channelName: 'orders', data, mode: 'append', limit: 2 });
  pushes[0]?.({ channelName: 'other', data: 9, mode: 'append', limit: null });
  expect(shown()).toMatchObject({ data: [2, 3] });
  pushes[0]?.({ channelName: 'orders', data: { total: 1 }, mode: 'replace', limit: null });
  expect(shown()).toMatchObject({ data: { total: 1 } });
  page.close();
});

describe('actions', () => {
  const acting = (actions: object[], config: object = {}) => {
    const opened = open({ variables: [{ key: 'n', defaultValue: 1 }], ...config }, [
      { widgetConfig: { events: { onClick: actions } } },
    ]);
    return { ...opened, fire: (event = {}) => opened.page.fire(widgetKey('a'), 'onClick', event) };
  };

  test('each sees what those before it have done; the first that fails ends them', async () => {
    const { page, requests, fire } = acting(
      [
        { type: 'SET_VARIABLE', key: 'n', value: '{{event.by | plus: variables.n}}' },
        { type: 'EXECUTE_QUERY', alias: 'q', inputValues: { n: '{{variables.n}}' } },
        { type: 'SHOW_TOAST', message: 'Got {{event.result | first}}' },
        { type: 'EXPLODE' },
        { type: 'SHOW_TOAST', message: 'never' },
      ],
      { dataSources: [query('q', { triggerMode: 'manual', inputValues: { n: '{{event.n}}', by: '{{event.by}}' } })] },
    );
    const done = fire({ by: 2 });
    const wanted = [{ kind: 'query', alias: 'q', inputValues: { n: 3, by: 2 } }];
    await expect.poll(() => requests[0]?.wanted).toEqual(wanted);
    requests[0]?.answer(0, ['it']);
    await done;
    expect(page.messages.told.get().map(({ text }) => text)).toEqual(['Got it', 'There is no action “EXPLODE”']);
    page.close();
  });

  test('a refused question ends them, and an event that causes itself is stopped', async () => {
    const { page, fire } = acting([
      { type: 'CONFIRM', message: 'Sure?' },
      { type: 'SET_VARIABLE', key: 'n', value: 9 },
    ]);
    const done = fire();
    await pause(5);
    page.messages.asked.get()?.answer(false);
    await done;
    expect(page.bindings.get('variables', 'n')).toBe(1);
    page.close();

    const round = acting([
      { type: 'SET_VARIABLE', key: 'n', value: '{{variables.n | plus: 1}}' },
      { type: 'CALL_WIDGET_METHOD', widgetKey: 'a', method: 'again' },
    ]);
    round.page.offer(widgetKey('a'), 'again', () => void round.fire());
    await round.fire();
    expect(round.page.messages.told.get().map(({ text }) => text)).toEqual([
      'This event has caused itself over and over, and was stopped.',
    ]);
    expect(round.page.bindings.get('variables', 'n')).toBeLessThan(500);
    round.page.close();
  });

  test('an event tells whether all its actions have been done, so that a form that was not sent keeps what was typed', async () => {
    const { page, fire } = acting([{ type: 'CONFIRM', message: 'Sure?' }]);
    for (const isYes of [true, false]) {
      const done = fire();
      await pause(5);
      page.messages.asked.get()?.answer(isYes);
      expect(await done).toBe(isYes);
    }
    page.close();
    const failing = acting([{ type: 'EXPLODE' }]);
    expect(await failing.fire()).toBe(false);
    failing.page.close();
    const nothing = acting([]);
    expect(await nothing.fire()).toBe(true);
    nothing.page.close();
  });

  test('widgets that refresh one another are stopped, and the browser has turns between', async () => {
    const refreshing = (own: string, other: string) => {
      const count = { type: 'SET_VARIABLE', key: own, value: `{{variables.${own} | plus: 1}}` };
      const actions = [count, { type: 'CALL_WIDGET_METHOD', widgetKey: other, method: 'refresh' }];
      return { widgetKey: widgetKey(own), widgetConfig: { events: { onRefresh: actions } } };
    };
    const variables = ['a', 'b'].map((key) => ({ key, defaultValue: 0 }));
    const { page } = open({ variables }, [refreshing('a', 'b'), refreshing('b', 'a')]);
    const shown = () => Number(page.bindings.get('variables', 'a'));
    await page.refresh(widgetKey('a'));
    expect(shown()).toBe(1);
    await expect.poll(() => page.messages.told.get().length, { timeout: 10_000 }).toBe(1);
    expect(shown()).toBe(100);
    page.close();
    await page.fire(widgetKey('a'), 'onRefresh');
    expect(shown()).toBe(100);
  });

  test('addresses that run code are not opened, and names of prototypes are no actions', async () => {
    const unknown = acting([{ type: 'constructor' }]);
    await unknown.fire();
    expect(unknown.page.messages.told.get()[0]?.text).toBe('There is no action “constructor”');
    unknown.page.close();
    for (const url of [
      'javascript:alert(1)',
      'JaVaScRiPt:1',
      ' data:text/html,a',
      'file:///etc/passwd',
      'blob:x',
      'vbscript:x',
      'https://[',
    ]) {
      const { page, fire, opened } = acting([{ type: 'NAVIGATE', url: '{{event.url}}' }]);
      await fire({ url });
      expect([url, opened, page.messages.told.get()[0]?.text]).toEqual([
        url,
        [],
        'Only addresses with http and https are opened',
      ]);
      page.close();
    }
    const good = acting([{ type: 'NAVIGATE', url: '/orders?id={{event.id}}' }]);
    await good.fire({ id: 7 });
    expect(good.opened).toEqual(['https://gantry.example/orders?id=7']);
    good.page.close();
  });

  test('a run is started by the alias that binds its workflow, shown while it goes on, and watched again after a reload', async () => {
    const dataSources = [
      { alias: 'approve', type: 'workflow', workflowID: 'w1', inputValues: { id: '{{event.id}}', fixed: 1 } },
    ];
    const { page, runs, fire, remembered } = acting([{ type: 'TRIGGER_WORKFLOW', workflowID: 'w1' }], { dataSources });
    const done = fire({ id: 5 });
    await pause(5);
    runs[0]?.tell({ instanceID: 'r1', status: 'RUNNING' });
    await done;
    expect(page.bindings.get('workflows', 'approve')).toMatchObject({
      instanceID: 'r1',
      status: 'RUNNING',
      isRunning: true,
    });
    page.close();

    const again = open({ dataSources }, [{}], remembered());
    expect(again.runs.map(({ instanceID }) => instanceID)).toEqual(['r1']);
    again.runs[0]?.tell({ instanceID: 'r1', status: 'COMPLETED', output: { ok: true } });
    expect(again.page.runs.shown.get()).toMatchObject([{ slot: 'approve', status: 'COMPLETED' }]);
    again.page.runs.forget('approve');
    expect(again.remembered()).toEqual([]);
    again.page.close();
  });
});

test('inputs that read the form are asked for before a start, whose refusal leaves the form; who leaves it starts nothing', async () => {
  const inputValues = { reason: '{{form.reason}}', note: 'Note: {{form.note}}', id: '{{event.id}}' };
  const dataSources = [{ alias: 'decide', type: 'workflow', workflowID: 'w1', inputValues }];
  const actions = (more: object) => ({
    widgetConfig: {
      events: {
        onClick: [
          { type: 'TRIGGER_WORKFLOW', ...more },
          { type: 'SET_VARIABLE', key: 'after', value: 1 },
        ],
      },
    },
  });
  const { page, runs } = open({ dataSources }, [
    { widgetKey: widgetKey('bound'), ...actions({ alias: 'decide' }) },
    { widgetKey: widgetKey('silent'), ...actions({ workflowID: 'w2' }) },
    { widgetKey: widgetKey('given'), ...actions({ workflowID: 'w3', inputValues: {} }) },
  ]);
  const { form } = page.messages;
  const fired = page.fire(widgetKey('bound'), 'onClick', { id: 5 });
  await pause(5);
  expect(runs.length).toBe(0);
  expect(form.get()?.definitions).toEqual([
    { key: 'reason', type: 'string', title: '{"alias":"decide"}' },
    { key: 'note', type: 'string' },
  ]);
  const refused = form.get()?.start({ reason: 'late' });
  await pause(5);
  runs[0]?.tell({ instanceID: '', error: { code: 'VALIDATION_ERROR', message: 'args.reason: is wrong' } });
  await expect(refused).rejects.toThrow('args.reason: is wrong');
  expect(form.get()).not.toBeNull();
  void form.get()?.start({ reason: 'late', note: 'now' });
  await pause(5);
  expect(runs[1]?.inputs).toEqual({ reason: 'late', note: 'Note: now', id: 5 });
  runs[1]?.tell({ instanceID: 'r1' });
  expect(await fired).toBe(true);
  expect(form.get()).toBeNull();
  expect(page.bindings.get('variables', 'after')).toBe(1);

  // A workflow that nothing is said about is asked for all that it declares.
  const left = page.fire(widgetKey('silent'), 'onClick');
  await pause(5);
  expect(form.get()?.definitions).toMatchObject([{ key: 'reason', title: '{"workflowID":"w2"}' }]);
  form.get()?.leave();
  expect(await left).toBe(false);
  void page.fire(widgetKey('given'), 'onClick');
  await pause(5);
  expect([form.get(), runs[2]?.inputs]).toEqual([null, {}]);
  page.close();
});

test('a start of a workflow is refused while an earlier one has had no answer, and ends with the page', async () => {
  const dataSources = [{ alias: 'decide', type: 'workflow', workflowID: 'w1' }];
  const started = { events: { onClick: [{ type: 'TRIGGER_WORKFLOW', alias: 'decide' }] } };
  const { page, runs } = open({ dataSources }, [
    { widgetKey: widgetKey('approve'), widgetConfig: started },
    { widgetKey: widgetKey('reject'), widgetConfig: started },
  ]);
  const approved = page.fire(widgetKey('approve'), 'onClick');
  await pause(5);
  await page.fire(widgetKey('reject'), 'onClick');
  expect(page.messages.told.get().map(({ text }) => text)).toEqual([
    'An earlier start of this workflow has had no answer yet',
  ]);
  runs[0]?.tell({ instanceID: 'r1', status: 'RUNNING' });
  await approved;
  expect(page.bindings.get('workflows', 'decide')).toMatchObject({ instanceID: 'r1' });

  const left = page.fire(widgetKey('reject'), 'onClick');
  await pause(5);
  expect(runs.length).toBe(2);
  page.close();
  await left;
  expect(page.messages.told.get().at(-1)?.text).toBe('The page was left before the start was answered');
});

test('more items than one request may ask for go in several, none of which waits for another', async () => {
  const asked: [first: number | undefined, count: number, from: number][] = [];
  const ended: number[] = [];
  const all = Array.from({ length: 205 }, (_, at) => at);
  const { promise: slow, resolve } = Promise.withResolvers<void>();
  const read = readInParts(all, 100, async (part, from) => {
    asked.push([part[0], part.length, from]);
    if (from === 0) await slow;
    if (from === 100) throw new Error('The server is away');
    ended.push(from);
  });
  expect(asked).toEqual([
    [0, 100, 0],
    [100, 100, 100],
    [200, 5, 200],
  ]);
  resolve();
  await expect(read).rejects.toThrow('The server is away');
  expect(ended).toEqual([200, 0]);
  await readInParts([], 100, async () => expect.fail('nothing is asked for'));
});

test('chosen rows stay chosen where new data have them too, one for one', () => {
  const before = [{ id: 1 }, { id: 2 }, { id: 2 }];
  expect(remainingRows(before, before)).toEqual(before);
  const after = [{ id: 0 }, { id: 2 }];
  const remaining = remainingRows(after, before);
  expect(remaining).toEqual([{ id: 2 }]);
  expect(remaining[0]).toBe(after[1]);
  expect(remainingRows([], before)).toEqual([]);
});

test('a chosen row whose values have changed is still chosen, by its key', () => {
  const chosen = [{ order_id: 2, customer_id: 7, state: 'open' }];
  const paid = { order_id: 2, customer_id: 7, state: 'paid' };
  expect(remainingRows([{ order_id: 1, customer_id: 8, state: 'open' }, paid], chosen)).toEqual([paid]);
  // A value that is no key by its name, or not of one row alone, says nothing.
  expect(remainingRows([{ customer: 7, state: 'paid' }], [{ customer: 7, state: 'open' }])).toEqual([]);
  expect(remainingRows([{ state: 'paid', customer_id: 7 }], [{ state: 'open', customer_id: 7 }])).toEqual([]);
  expect(remainingRows([paid, { ...paid, state: 'late' }], chosen)).toEqual([]);
});

test('rows are exported as they are shown, and no text becomes a formula', () => {
  const columns = ['id', 'note', 'more'].map((key) => ({ key, label: key.toUpperCase() }));
  const rows = [
    { id: -1, note: '=1+1', more: 'a "b", c' },
    { id: 2, note: '@x\ny', more: { a: 1 } },
    { __proto__: { id: 3 } },
  ];
  expect(csvOf(columns, rows)).toBe('ID,NOTE,MORE\r\n-1,\'=1+1,"a ""b"", c"\r\n2,"\'@x\ny","{""a"":1}"\r\n,,\r\n');
});

test('a row is saved with what differs from it, as the values that it had', () => {
  const row = { id: 1, price: 2.5, name: 'a', isPaid: false, day: '2026-11-29', more: { a: 1 }, note: null };
  const columns = [...Object.keys(row), 'constructor'].map((key) => ({ key, type: key === 'day' ? 'date' : '' }));
  expect(columns.map((column) => kindOfField(row, column))).toEqual([
    ...['number', 'number', 'text', 'boolean', 'day', 'none', 'text', 'text'],
  ]);
  const entered = { id: '1', price: ' 3', name: '', isPaid: true, day: '', note: '' };
  expect(changesOf(row, columns, entered)).toEqual({
    changes: { price: 3, name: '', isPaid: true, day: null },
    faults: {},
  });
  expect(changesOf(row, columns, { price: '3 €', name: 'b' }).faults).toEqual({ price: 'is not a number' });
});

test('parameters of a page are the texts of its address, however the router has written them', () => {
  expect(paramsOf('?id=%2205%22&name=Ada%20L.&n=7&open=%22&big=12345678901234567890')).toEqual({
    ...{ id: '05', name: 'Ada L.', n: '7', open: '"', big: '12345678901234567890' },
  });
});

describe('layouts', () => {
  test('any stored layout is drawn as far as it can be read', () => {
    const widget = (key: unknown, more = {}) => ({ type: 'widget', widgetKey: key, ...more });
    const given = {
      type: 'row',
      children: [
        widget('a', { span: 40 }),
        widget('a'),
        widget(7),
        null,
        'x',
        { type: 'unknown', gap: -5, children: [widget('b')] },
      ],
    };
    const root = layoutOf({ layout: given });
    expect(root.children.map(({ kind, widgetKey: key, span, gap }) => [kind, key, span, gap])).toEqual([
      ['widget', 'a', 12, undefined],
      ['column', '', undefined, 0],
    ]);
    expect(root.children[1]?.children[0]?.widgetKey).toBe('b');
    expect(layoutOf({ widgets: ['x', 'x', 3] }).children.map(({ widgetKey: key }) => key)).toEqual(['x']);
    let deep: object = widget('deep');
    for (let level = 0; level < 10_000; level += 1) deep = { type: 'column', children: [deep] };
    expect(layoutOf({ layout: deep }).kind).toBe('column');
    expect(spansOf([{ span: 6 }, { span: undefined }, { span: undefined }])).toEqual([6, 3, 3]);
    expect(spansOf([{ span: 12 }, { span: undefined }])).toEqual([12, 1]);
  });

  test('a dashboard has the grid of the width, and the order in which it is read', () => {
    const lg = [
      { i: 'b', x: 0, y: 4, w: 4, h: 2 },
      { i: 'a', x: 6, y: 0, w: 8, h: 2 },
      { i: 'none', x: 0, y: 0, w: 1, h: 1 },
    ];
    const config = { widgets: ['a', 'b', 'c'], layouts: { lg, sm: [{ i: 'a', x: 0, y: 0, w: 6, h: 1e9 }] } };
    expect(gridOf(config, 1_400)).toMatchObject({
      columns: 14,
      cells: [{ widgetKey: 'b' }, { widgetKey: 'a' }, { widgetKey: 'c', y: 6 }],
    });
    expect(gridOf(config, 1_000)?.cells[0]).toMatchObject({ widgetKey: 'b' });
    expect(gridOf(config, 700)).toMatchObject({
      columns: 6,
      cells: [{ widgetKey: 'a', h: 200 }, { widgetKey: 'b' }, { widgetKey: 'c' }],
    });
    expect(gridOf(config, 400)).toBeUndefined();
    expect(readingOrder(config)).toEqual(['a', 'b', 'c']);
  });
});

describe('a page that is edited', () => {
  const stat = (value: string) => ({ widgetType: 'stat', widgetConfig: { properties: { value } } });
  const shownBy = (page: PageState, key: string) => page.bindings.read(propertiesID(key)).value;

  test('another content of it changes what differs alone: values that were set and data that were read stay', async () => {
    const config = {
      variables: [{ key: 'day', defaultValue: 'monday' }, { key: 'gone' }],
      dataSources: [query('a', { inputValues: { day: '{{variables.day}}' } })],
    };
    const { page, requests } = open(config, [stat('{{queries.a.data}} {{variables.day}} {{variables.gone}}')]);
    await pause(5);
    const [first] = requests;
    first?.answer(0, 7);
    page.setVariable('day', 'tuesday');
    const before = page.content.get();
    page.update({
      ...before,
      config: {
        variables: [
          { key: 'day', defaultValue: 'monday' },
          { key: 'new', defaultValue: 1 },
        ],
        dataSources: [...config.dataSources, query('b')],
      },
      widgets: [
        ...before.widgets,
        {
          ...before.widgets[0],
          ...stat('{{queries.a.data}} {{variables.day}} {{variables.new}}'),
          widgetKey: widgetKey('b'),
        } as never,
      ],
    });
    await pause(5);

    expect(shownBy(page, widgetKey('b'))).toEqual({ value: '7 tuesday 1' });
    expect(page.bindings.read(propertiesID(widgetKey('a'))).faults).toEqual([
      { source: 'variables.gone', message: 'there is no variable “gone” on this page' },
    ]);
    // The new source is read, and nothing else again.
    expect(requests.slice(1).map(({ wanted }) => wanted)).toEqual([[{ kind: 'query', alias: 'b', inputValues: {} }]]);
    page.close();
  });

  test('a query that was taken away is not shown any more, also if its answer comes later', async () => {
    const { page, requests } = open({ dataSources: [query('a')] }, [stat('{{queries.a.data}}')]);
    await pause(5);
    page.update({ ...page.content.get(), config: {} });
    requests[0]?.answer(0, 7);

    expect(page.bindings.read(propertiesID(widgetKey('a'))).faults[0]?.message).toBe(
      'there is no query “a” on this page',
    );
    page.close();
  });
});
