import type { Answer, PageClient, RunState, Wanted } from '#ops/console/page/state/client.ts';
import { propertiesID } from '#ops/console/page/state/page-content.ts';
import { PageState } from '#ops/console/page/state/page-state.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/settle.ts';

type Values = Record<string, unknown>;

/** A page that a user has open, without a browser: what its widgets show is read, and their events are fired. */
export interface OpenedPage extends Disposable {
  state: PageState;
  /** The properties of a widget by the end of its key. Waits until its data are read; throws what an expression or a query lacks. */
  shown(name: string): Promise<Values>;
  enter(name: string, values: Values): void;
  fire(name: string, event: string, values?: Values): Promise<boolean>;
  /** Messages of the page, the latest last. */
  told(): string[];
}

/** Opens a page as the console does, by the API alone. */
export async function openPageState(client: Client, appPageID: string, viewer: Values): Promise<OpenedPage> {
  const { body } = await client.get(`T/app-pages/${appPageID}/content`);
  const { appPage, widgets } = body;
  const content = {
    ...{ id: appPageID, title: appPage.appPageTitle, config: appPage.appPageConfig, widgets, viewer, params: {} },
  };
  const ends: (() => void)[] = [];
  const state = new PageState(content, {
    client: pageClient(client, appPageID, ends),
    code: { run: () => Promise.reject(new Error('These pages have no code')) },
    memory: { get: () => null, set: () => undefined },
  });
  state.open();
  const keyOf = (name: string) => {
    const found = (appPage.appPageConfig.widgets as string[]).find((key) => key.endsWith(`_${name}`));
    if (!found) throw new Error(`The page has no widget ${name}`);
    return found;
  };
  return {
    state,
    async shown(name) {
      const key = keyOf(name);
      await eventually(async () => {
        const states = [state.dataOf(key)?.get(), ...state.namedQueries(key).map((alias) => state.query(alias)?.get())];
        const open = states.find((one) => one && one.status !== 'ready');
        if (open) throw new Error(`${name}: ${open.error?.message ?? open.status}`);
      });
      const { value, faults } = state.bindings.read(propertiesID(key));
      if (faults.length > 0) throw new Error(`${name}: ${JSON.stringify(faults)}`);
      return { ...(value as Values), ...state.dataOf(key)?.get() };
    },
    enter: (name, values) => state.enter(keyOf(name), values),
    fire: (name, event, values = {}) => state.fire(keyOf(name), event, values),
    told: () => state.messages.told.get().map(({ text }) => text),
    [Symbol.dispose]() {
      for (const end of ends) end();
      state.close();
    },
  };
}

const POLL_MS = 100;

function pageClient(client: Client, appPageID: string, ends: (() => void)[]): PageClient {
  const path = `T/app-pages/${appPageID}`;
  const refuse = () => {
    throw new Error('Not on this page');
  };
  return {
    async read(wanted, onAnswer) {
      await Promise.all(wanted.map(async (one, at) => onAnswer(await answerTo(client, path, one, at))));
    },
    readInputs: async () => [],
    watchRun({ workflow, inputs }, onState) {
      const first: RunState = {
        ...{ instanceID: '', status: 'PENDING', output: null, error: null, steps: [], questionID: null },
      };
      onState(first);
      let isOver = false;
      ends.push(() => {
        isOver = true;
      });
      const watch = async () => {
        const alias = 'alias' in workflow ? workflow.alias : '';
        const started = await client.post(`${path}/workflows/${alias}/execute`, { inputValues: inputs });
        if (started.body.error) return onState({ ...first, status: 'FAILED', error: started.body.error });
        const { instanceID } = started.body;
        while (!isOver) {
          const { body } = await client.get(`${path}/runs/${instanceID}`);
          const { status, output = null, error = null } = body;
          onState({ ...first, instanceID, status, output, error });
          if (['COMPLETED', 'FAILED', 'CANCELLED'].includes(status)) return;
          await new Promise((resolve) => setTimeout(resolve, POLL_MS));
        }
      };
      watch().catch((error) =>
        onState({ ...first, status: 'FAILED', error: { code: 'TEST', message: String(error) } }),
      );
      return () => {
        isOver = true;
      };
    },
    ...{ runQuery: refuse, upload: refuse, fileAddress: refuse, openPage: refuse, openAddress: refuse, copy: refuse },
    ...{ openRun: refuse, stopRun: refuse, rerun: refuse },
    ...{ saveFile: refuse, listen: () => () => undefined, origin: 'http://localhost', isInView: () => true },
  };
}

async function answerTo(client: Client, path: string, one: Wanted, at: number): Promise<Answer> {
  const wanted =
    one.kind === 'query'
      ? { queries: [{ queryAlias: one.alias, inputValues: one.inputValues }] }
      : { widgets: [{ widgetKey: one.widgetKey, state: one.state }] };
  const { body, status } = await client.post(`${path}/data`, wanted);
  const line = typeof body === 'string' ? JSON.parse(body.trim().split('\n')[0] ?? '{}') : body;
  if (!line.answer) return { at, error: line.error ?? { code: 'TEST', message: `the server answered ${status}` } };
  return { at, answer: { data: one.kind === 'query' ? line.answer.dataQueryResult : line.answer.widgetData } };
}
