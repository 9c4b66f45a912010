import { readUnsavedWidget } from '../client/app-pages.ts';
import { queries } from '../client/queries.ts';
import { dataQueryTextRead } from '../client/queries-of-tenant.ts';
import { compile, isFixed } from '../page/bindings/compile.ts';
import type { Answer, PageClient, Wanted } from '../page/state/client.ts';
import { listIn } from '../page/state/page-content.ts';
import { isReadOnly } from '../query/read-only.ts';
import { isObject } from '../ui/is-object.ts';
import { readOwnRuns } from './own-runs.ts';
import { commonClient, type Host, widgetAnswer } from './page-client.ts';
import { readingOnly, refusalOf } from './reading-only.ts';

type Values = Readonly<Record<string, unknown>>;

interface Unsaved {
  config: Values;
  widgets: Readonly<Record<string, { type: string; config: Values }>>;
}

/** Requests for data of one page at the same time: other pages get their turns in between. */
const AT_ONCE = 4;

/** The server as a page that is not saved needs it: what it binds is run by its author, with the author's own rights. */
export function unsavedPageClient(host: Host, page: () => Unsaved): PageClient {
  const common = commonClient(host);
  const sourceOf = (alias: string) => listIn(page().config.dataSources).find((one) => one.alias === alias);
  const readOne = async (wanted: Wanted, at: number, signal: AbortSignal): Promise<Answer> => {
    if (wanted.kind === 'widget') {
      const { type = '', config = {} } = page().widgets[wanted.widgetKey] ?? {};
      return widgetAnswer(at, await readUnsavedWidget(host.tenantID, { type, config, state: wanted.state }, signal));
    }
    const source = sourceOf(wanted.alias);
    const given = { ...fixedInputs(source), ...wanted.inputValues };
    if (source?.type === 'runs') return { at, answer: await readOwnRuns(host.tenantID, source, given, signal) };
    return { at, answer: await common.runQuery(String(source?.queryID), given, signal) };
  };
  return {
    ...common,
    async read(wanted, onAnswer, signal) {
      const left = [...wanted.entries()];
      const work = async () => {
        for (let next = left.shift(); next && !signal.aborted; next = left.shift()) {
          const [at, one] = next;
          onAnswer(await readOne(one, at, signal).catch((error) => ({ at, error: refusalOf(error) })));
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
    },
    async readInputs(workflow) {
      if (!('alias' in workflow)) return common.readInputs(workflow);
      const source = sourceOf(workflow.alias);
      const declared = await common.readInputs({ workflowID: String(source?.workflowID) });
      const own = isObject(source?.inputValues) ? source.inputValues : {};
      // As of a page that is saved: those that it has an expression for.
      const isOpen = (key: string) => Object.hasOwn(own, key) && !isFixed(compile(own[key]));
      return declared.filter((one) => isObject(one) && isOpen(String(one.key)));
    },
    watchRun(target, onState) {
      const { workflow } = target;
      if (!('alias' in workflow)) return common.watchRun(target, onState);
      const source = sourceOf(workflow.alias);
      const inputs = { ...fixedInputs(source), ...target.inputs };
      return common.watchRun({ ...target, workflow: { workflowID: String(source?.workflowID) }, inputs }, onState);
    },
  };
}

/** The server as the canvas needs it: it reads, and changes nothing. */
export function canvasClient(host: Host, page: () => Unsaved): PageClient {
  return readingOnly(unsavedPageClient(host, page), {
    queriesOf(wanted) {
      if (wanted.kind === 'query')
        return listIn(page().config.dataSources).flatMap(({ alias, queryID }) =>
          alias === wanted.alias && typeof queryID === 'string' ? [queryID] : [],
        );
      const bound = listIn(page().widgets[wanted.widgetKey]?.config.dataQueries);
      return bound.flatMap(({ dataQueryID }) => (typeof dataQueryID === 'string' ? [dataQueryID] : []));
    },
    isReadOnly: async (dataQueryID) =>
      isReadOnly(await queries.fetchQuery(dataQueryTextRead({ tenantID: host.tenantID, dataQueryID }))),
  });
}

/** Inputs without an expression, which the server fills in for a page that is saved. */
function fixedInputs(source: Values | undefined): Values {
  const inputs = isObject(source?.inputValues) ? source.inputValues : {};
  return Object.fromEntries(Object.entries(inputs).filter(([, value]) => isFixed(compile(value))));
}
