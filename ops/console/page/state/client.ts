import type { RunStatus } from '../../client/types.ts';

/** The server as a page needs it. The host gives it: the console, and others that show pages. */

/** A widget as it stands on a page. */
export interface PlacedWidget {
  widgetKey: string;
  widgetTitle: string;
  widgetType: string;
  widgetConfig: Readonly<Record<string, unknown>>;
  /** Seconds; 0: its data are read once. */
  refreshInterval: number;
  /** Why it is not shown. */
  error: Refused | null;
}

export interface Refused {
  code: string;
  message: string;
}

export interface QueryAnswer {
  data: unknown;
  rowCount?: number | undefined;
  truncated?: boolean | undefined;
  columns?: readonly string[] | undefined;
}

/** Data to read: of a query by its alias, or of the queries that a widget binds itself. */
export type Wanted =
  | { kind: 'query'; alias: string; inputValues: Readonly<Record<string, unknown>> }
  | { kind: 'widget'; widgetKey: string; state: Readonly<Record<string, unknown>> };

export type Answer = { at: number } & ({ answer: QueryAnswer; error?: undefined } | { error: Refused });

/** A run that a page has started, as its viewer may see it. */
export interface RunState {
  instanceID: string;
  status: RunStatus;
  output: unknown;
  error: Refused | null;
  /** Nodes that have ended; empty for a viewer who may not read the workflow. */
  steps: readonly RunStep[];
  /** The question that the run waits for. */
  questionID: string | null;
}

export interface RunStep {
  nodeID: string;
  status: string;
}

export interface RunTarget {
  /** The widget that shows it. */
  widgetKey: string;
  /** A workflow that the page binds, or one that the viewer may execute. */
  workflow: { alias: string } | { workflowID: string };
  inputs: Readonly<Record<string, unknown>>;
}

/** Data that a listener sends to a page. */
export interface Push {
  channelName: string;
  data: unknown;
  /** The data were too large for a message. */
  dataOmitted?: true | undefined;
  mode: 'replace' | 'append';
  /** How many of the appended are shown. */
  limit: number | null;
}

export interface Listening {
  onPush(push: Push): void;
  onAllowed(): void;
  onRefused(error: Refused): void;
}

export interface PageClient {
  /** Tells what listeners send to the page, and whether they may, until the answer is called. */
  listen(listening: Listening): () => void;
  /** Reads all of it in one request, and tells each answer as it comes. Rejects if the request as a whole fails. */
  read(wanted: readonly Wanted[], onAnswer: (answer: Answer) => void, signal: AbortSignal): Promise<void>;
  /** Runs a query that the page does not bind, with the viewer's own right. */
  runQuery(queryID: string, inputValues: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<QueryAnswer>;
  /** Starts a run, or goes on watching one, and tells what becomes of it, also after a lost connection. The answer ends that. */
  watchRun(target: RunTarget & { instanceID?: string | undefined }, onState: (state: RunState) => void): () => void;
  /** The declaration of the inputs of a workflow that a viewer may give, for a form. */
  readInputs(workflow: RunTarget['workflow']): Promise<readonly unknown[]>;
  upload(file: File): Promise<{ url: string; filePath: string; fileName: string }>;
  /** An address that an element can show: that of a file of the tenant needs the viewer's token. */
  fileAddress(url: string): Promise<string>;
  /** Opens the record of a run. */
  openRun(instanceID: string): void;
  /** Cancels a run, with the viewer's own right. */
  stopRun(instanceID: string): Promise<void>;
  /** Starts a run that repeats another with its input and its version, with the viewer's own right. Answers its id. */
  rerun(instanceID: string): Promise<string>;
  openPage(appPageID: string, params: Readonly<Record<string, string>>): void;
  /** The base of addresses without one. */
  origin: string;
  /** Opens an address, which has been checked, in a window that has no way back. */
  openAddress(url: string): void;
  copy(text: string): Promise<void>;
  saveFile(name: string, text: string): void;
  /** Whether the page is in view: in the background nothing is read by an interval. */
  isInView(): boolean;
}
