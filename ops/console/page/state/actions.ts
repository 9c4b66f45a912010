import { isObject } from '../../ui/is-object.ts';
import type { Bindings } from '../bindings/graph.ts';
import type { PageClient } from './client.ts';
import type { Messages, Tone } from './messages.ts';
import type { Runs } from './runs.ts';
import { safeAddress } from './safe-address.ts';
import type { Sources } from './sources.ts';
import { startWorkflow } from './start-workflow.ts';

type Values = Readonly<Record<string, unknown>>;
type Action = Values;

/** The page on which actions are done. */
export interface ActingPage {
  client: PageClient;
  bindings: Bindings;
  sources: Sources;
  runs: Runs;
  setVariable(key: string, value: unknown): void;
  aliasOf(type: 'query' | 'workflow', id: string): string | undefined;
  workflowInputs(alias: string): Values;
  callMethod(nameOrKey: string, method: string, depth: number): void;
  messages: Pick<Messages, 'tell' | 'ask' | 'askInputs'>;
}

/** The page, the widget and the event of an action. */
interface Doing {
  page: ActingPage;
  /** The widget whose event it is. */
  widgetKey: string;
  event: Readonly<Record<string, unknown>>;
  /** How many events have led to this one. */
  depth: number;
}

/** Its own inputs of a workflow, whose expressions may read the form that is asked for first. */
interface Written {
  readonly inputValues?: unknown;
}

/** Answers with more of the event for the actions behind it, or false where these are not done. */
type Doer = (action: Action, doing: Doing, written: Written) => Promise<object | false | undefined>;

/** Does the actions of an event, one after the other. The first that fails is told, and those behind it are left: false. */
export async function runActions(actions: readonly unknown[], doing: Doing): Promise<boolean> {
  let { event } = doing;
  try {
    for (const action of actions) {
      const more = isObject(action) ? await runAction(action, { ...doing, event }) : undefined;
      if (more === false) return false;
      event = { ...event, ...more };
    }
    return true;
  } catch (error) {
    doing.page.messages.tell('bad', error instanceof Error ? error.message : String(error));
    return false;
  }
}

async function runAction(given: Action, doing: Doing): Promise<object | false | undefined> {
  const isLater = given.type === 'TRIGGER_WORKFLOW' && isObject(given.inputValues);
  const now = isLater ? { ...given, inputValues: undefined } : given;
  const { value, faults } = await doing.page.bindings.once(now, { event: doing.event });
  const [fault] = faults;
  if (fault) throw new Error(`{{${fault.source}}} ${fault.message}`);
  const action = isObject(value) ? value : {};
  const type = String(action.type);
  const doer = Object.hasOwn(doers, type) ? doers[type] : undefined;
  if (!doer) throw new Error(`There is no action “${type}”`);
  return doer(action, doing, given);
}

const doers: Readonly<Record<string, Doer>> = {
  async SET_VARIABLE({ key, value }, { page }) {
    page.setVariable(textOf(key, 'the name of a variable'), value ?? null);
    return undefined;
  },

  async EXECUTE_QUERY({ alias, inputValues }, { page, event }) {
    return queryResult(page, textOf(alias, 'the alias of a query'), { given: valuesOf(inputValues), event });
  },

  async TRIGGER_QUERY({ queryID, inputValues }, { page, event }) {
    const id = textOf(queryID, 'the id of a query');
    const alias = page.aliasOf('query', id);
    // A query that the page binds runs as its creator; another one with the viewer's own right.
    if (alias !== undefined) return queryResult(page, alias, { given: valuesOf(inputValues), event });
    return { result: (await page.client.runQuery(id, valuesOf(inputValues))).data };
  },

  async TRIGGER_WORKFLOW({ workflowID, alias, inputValues }, { page, widgetKey, event }, written) {
    const known = typeof alias === 'string' && alias !== '' ? alias : undefined;
    const id = known === undefined ? textOf(workflowID, 'the alias or the id of a workflow') : '';
    const bound = known ?? page.aliasOf('workflow', id);
    const own = isObject(written.inputValues) ? written.inputValues : inputValues;
    const isSilent = bound === undefined && !isObject(own);
    const inputs = isSilent ? undefined : { ...(bound !== undefined && page.workflowInputs(bound)), ...valuesOf(own) };
    const workflow = bound === undefined ? { workflowID: id } : { alias: bound };
    const started = await startWorkflow(page, { widgetKey, workflow, inputs, event });
    return started ? { instanceID: started.instanceID } : false;
  },

  async CALL_WIDGET_METHOD({ widgetKey, method }, { page, depth }) {
    page.callMethod(textOf(widgetKey, 'the key of a widget'), textOf(method, 'the name of a method'), depth);
    return undefined;
  },

  async SHOW_TOAST({ message, variant }, { page }) {
    const tones: Readonly<Record<string, Tone>> = {
      danger: 'bad',
      warning: 'wait',
      success: 'ok',
    };
    page.messages.tell(
      Object.hasOwn(tones, String(variant)) ? (tones[String(variant)] ?? 'idle') : 'idle',
      String(message ?? ''),
    );
    return undefined;
  },

  async NAVIGATE({ url }, { page }) {
    const address = safeAddress(textOf(url, 'an address'), page.client.origin);
    if (address === null) throw new Error('Only addresses with http and https are opened');
    page.client.openAddress(address);
    return undefined;
  },

  async OPEN_PAGE({ appPageID, params }, { page }) {
    const texts = Object.entries(valuesOf(params)).map(([key, value]) => [key, String(value ?? '')]);
    page.client.openPage(textOf(appPageID, 'the id of a page'), Object.fromEntries(texts));
    return undefined;
  },

  async OPEN_RUN({ instanceID }, { page }) {
    page.client.openRun(textOf(instanceID, 'the id of a run'));
    return undefined;
  },

  async STOP_RUN({ instanceID }, { page }) {
    await page.client.stopRun(textOf(instanceID, 'the id of a run'));
    return undefined;
  },

  async RERUN({ instanceID }, { page }) {
    return { instanceID: await page.client.rerun(textOf(instanceID, 'the id of a run')) };
  },

  async COPY({ value }, { page }) {
    await page.client.copy(asText(value));
    page.messages.tell('ok', 'Copied');
    return undefined;
  },

  async DOWNLOAD({ value, fileName }, { page }) {
    const name = String(fileName || 'download.json').replaceAll(/[/\\\p{Cc}]/gu, '_');
    page.client.saveFile(name, asText(value));
    return undefined;
  },

  async CONFIRM({ message }, { page }) {
    return (await page.messages.ask(String(message ?? 'Go on?'))) ? undefined : false;
  },
};

async function queryResult(page: ActingPage, alias: string, more: { given: Values; event: unknown }): Promise<object> {
  const { error, data } = await page.sources.run(alias, more);
  if (error) throw new Error(error.message);
  return { result: data };
}

function valuesOf(given: unknown): Values {
  return isObject(given) ? given : {};
}

function textOf(given: unknown, what: string): string {
  if (typeof given === 'string' && given !== '') return given;
  throw new Error(`An action lacks ${what}`);
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
}
