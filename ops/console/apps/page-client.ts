import {
  type DataLine,
  readPageData,
  readPageFile,
  readWidgetFile,
  readWidgetsData,
  uploadWidgetFile,
} from '../client/app-pages.ts';
import { watchBridge } from '../client/bridge.ts';
import { mayNow } from '../client/may.ts';
import { readPageRun, readWorkflowInputs } from '../client/page-runs.ts';
import { queries } from '../client/queries.ts';
import { runDataQuery } from '../client/queries-of-tenant.ts';
import { referenceRead } from '../client/references.ts';
import { getSocket, joinRoom } from '../client/socket.ts';
import { repeatRun, stopRun } from '../client/stop-run.ts';
import { reasonOf } from '../client/unknown-title.ts';
import type { Answer, PageClient, Wanted } from '../page/state/client.ts';
import { saveFile } from '../ui/save-file.ts';
import { readInParts } from './in-parts.ts';
import { widgetOf } from './widget-key.ts';

export interface Host {
  tenantID: string;
  openPage: PageClient['openPage'];
  openRun: PageClient['openRun'];
}

/** The server as an app page needs it. */
export function appPageClient(host: Host & { appPageID: string }): PageClient {
  const { tenantID, appPageID } = host;
  return {
    ...commonClient(host),
    read: (wanted, onAnswer, signal) =>
      readInParts(wanted, MOST_ITEMS, async (part, from) => {
        const queries = part.flatMap((one) =>
          one.kind === 'query' ? [{ queryAlias: one.alias, inputValues: one.inputValues }] : [],
        );
        const widgets = part.flatMap((one) =>
          one.kind === 'widget' ? [{ widgetKey: one.widgetKey, state: one.state }] : [],
        );
        const indexes = new Map(part.map((one, at) => [nameOf(one), from + at]));
        await readPageData({ tenantID, appPageID }, { queries, widgets } as never, {
          signal,
          onLine(line) {
            const at = indexes.get(nameIn(line));
            if (at !== undefined) onAnswer(answerIn(line, at));
          },
        });
      }),
  };
}

/** The server as a dashboard needs it: with the viewer's own rights. */
export function dashboardClient(host: Host): PageClient {
  const { tenantID } = host;
  return {
    ...commonClient(host),
    async read(wanted, onAnswer, signal) {
      const own = wanted.flatMap((one, at) => (one.kind === 'widget' ? [{ ...one, at }] : []));
      for (let from = 0; from < own.length; from += AT_ONCE) {
        const part = own.slice(from, from + AT_ONCE);
        const asked = part.map(({ widgetKey, state }) => ({ widgetID: widgetOf(widgetKey), state }));
        const answers = await readWidgetsData(tenantID, { widgets: asked } as never, signal);
        for (const [index, { error, ...answer }] of answers.entries()) {
          const at = part[index]?.at ?? 0;
          onAnswer(error ? { at, error } : widgetAnswer(at, answer));
        }
      }
    },
  };
}

function requirePage(appPageID: string | undefined): string {
  if (appPageID === undefined) throw new Error('A dashboard has no workflows of its own');
  return appPageID;
}

/** As many queries, and as many widgets, as one request for data of a page may ask for. */
const MOST_ITEMS = 100;

/** As many widgets as one request may ask for. */
const AT_ONCE = 50;

/** The part of the server that pages and dashboards have in common. */
export function commonClient({
  tenantID,
  appPageID,
  openPage,
  openRun,
}: Host & { appPageID?: string }): Omit<PageClient, 'read'> {
  return {
    openPage,
    openRun,
    stopRun: (instanceID) => stopRun({ tenantID, instanceID }),
    rerun: (instanceID) => repeatRun({ tenantID, instanceID }),
    listen({ onPush, onAllowed, onRefused }) {
      if (appPageID === undefined) return () => undefined;
      const socket = getSocket();
      const leave = joinRoom(`listener:app_page:${appPageID}`, {
        onJoined: onAllowed,
        // The server says the same of a page that is sent nothing, and of one that the viewer may not read.
        onRefused: ({ code }) =>
          onRefused({ code, message: 'No listener sends events to this page, or you may not see them.' }),
      });
      socket.on('listener_event', onPush);
      return () => {
        socket.off('listener_event', onPush);
        leave();
      };
    },
    origin: location.origin,
    openAddress: (url) => void window.open(url, '_blank', 'noopener,noreferrer'),
    copy: (text) => navigator.clipboard.writeText(text),
    // The type is none that a browser would run.
    saveFile: (name, text) => saveFile(name, new Blob([text], { type: 'application/octet-stream' })),
    isInView: () => !document.hidden,
    async runQuery(dataQueryID, inputValues, signal) {
      return queryAnswer(await runDataQuery({ tenantID, dataQueryID }, inputValues, signal));
    },
    watchRun({ widgetKey, workflow, inputs, instanceID }, onState) {
      const slot = 'alias' in workflow ? workflow.alias : workflow.workflowID;
      const start =
        'workflowID' in workflow ? workflow : { appPageID: requirePage(appPageID), workflowAlias: workflow.alias };
      // A widget that starts two workflows shows both.
      const widgetID = `${widgetKey}~${encodeURIComponent(slot)}`.slice(0, 255);
      return watchBridge({ tenantID, widgetID, start, instanceID, inputs }, onState, {
        socket: getSocket(),
        // A page that is not saved has no such read: the run is shown without its output.
        readOutput: async (appPageInstanceID) =>
          readPageRun({ tenantID, appPageID: requirePage(appPageID), appPageInstanceID }),
      });
    },
    async readInputs(workflow) {
      if ('alias' in workflow)
        return readWorkflowInputs({ tenantID, appPageID: requirePage(appPageID), workflowAlias: workflow.alias });
      const read = queries.fetchQuery(referenceRead(tenantID, 'workflow', workflow.workflowID));
      // Who may execute a workflow may not always read it: then it starts without a form.
      const { inputs } = await read.catch((error) =>
        reasonOf(error) === 'hidden' ? { inputs: [] } : Promise.reject(error),
      );
      return Array.isArray(inputs) ? inputs : [];
    },
    upload: (file) => uploadWidgetFile(tenantID, file),
    async fileAddress(src) {
      if (/^data:(?:image|video|audio)\//i.test(src)) return src;
      const address = URL.canParse(src, location.origin) ? new URL(src, location.origin) : undefined;
      const path = address?.searchParams.get('path');
      const isOwn =
        address?.origin === location.origin && address.pathname === `/api/v1/tenants/${tenantID}/widgets/files`;
      if (!isOwn || !path) throw new Error('Only files that were uploaded here are shown, and none of other sites.');
      const isOfPage = appPageID !== undefined && !(await mayNow(tenantID, 'widget.execute'));
      const file = isOfPage ? readPageFile({ tenantID, appPageID }, path) : readWidgetFile(tenantID, path);
      return URL.createObjectURL(await file);
    },
  };
}

function nameIn({ queryAlias, widgetKey }: DataLine): string {
  return queryAlias === undefined ? `widget ${widgetKey}` : `query ${queryAlias}`;
}

function answerIn({ queryAlias, answer, error }: DataLine, at: number): Answer {
  if (!answer) return { at, error: error ?? { code: 'UNAVAILABLE', message: 'There was no answer' } };
  return queryAlias === undefined ? widgetAnswer(at, answer) : { at, answer: queryAnswer(answer) };
}

function nameOf(one: Wanted): string {
  return one.kind === 'query' ? `query ${one.alias}` : `widget ${one.widgetKey}`;
}

interface Answered {
  dataQueryResult?: unknown;
  rowCount?: number;
  truncated?: boolean;
  columns?: { name: string }[];
}

function queryAnswer({ dataQueryResult, rowCount, truncated, columns }: Answered) {
  return { data: dataQueryResult, rowCount, truncated, columns: columns?.map(({ name }) => name) };
}

/** A widget whose only query has failed has failed itself; beside others the failure is theirs alone. */
export function widgetAnswer(
  at: number,
  { widgetData, bindings = [] }: { widgetData?: unknown; bindings?: readonly { error: Answer['error'] | null }[] },
): Answer {
  const failed = bindings.flatMap(({ error }) => error ?? []);
  const [first] = failed;
  if (first && failed.length === bindings.length) return { at, error: first };
  return { at, answer: { data: widgetData } };
}
