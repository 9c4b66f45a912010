import type { PageDocument } from '../../document.ts';
import { namesOfWidgets } from '../config.ts';
import type { Action } from './actions-of.ts';

/** The actions that there are, in the order in which they are offered. */
export const actionTypes = {
  TRIGGER_WORKFLOW: { label: 'Start a workflow', hint: 'Its progress and its questions stand below the widget' },
  EXECUTE_QUERY: { label: 'Run a query of the page', hint: 'Also one that reads its data again' },
  SET_VARIABLE: { label: 'Set a variable', hint: 'What reads it follows' },
  CONFIRM: { label: 'Ask before going on', hint: 'The actions behind it are done after a yes' },
  SHOW_TOAST: { label: 'Show a message', hint: 'For some seconds' },
  OPEN_PAGE: { label: 'Open a page', hint: 'With parameters' },
  CALL_WIDGET_METHOD: { label: 'Refresh or empty a widget', hint: 'Its data are read again, or its value is cleared' },
  TRIGGER_QUERY: { label: 'Run another query', hint: 'With the right of the viewer' },
  OPEN_RUN: { label: 'Open a run', hint: 'Its record, for viewers who may read the workflow' },
  STOP_RUN: { label: 'Cancel a run', hint: 'With the right of the viewer' },
  RERUN: { label: 'Run a run again', hint: 'With its input, and the right of the viewer' },
  NAVIGATE: { label: 'Open an address', hint: 'In a new tab' },
  COPY: { label: 'Copy a value', hint: 'Into the clipboard' },
  DOWNLOAD: { label: 'Save a value as a file', hint: '' },
} as const;

export type ActionType = keyof typeof actionTypes;

export function isActionType(type: unknown): type is ActionType {
  return typeof type === 'string' && Object.hasOwn(actionTypes, type);
}

/** An action in a few words; titles of what stands outside of the page are told by its form. */
export function actionWords(action: Action, document: PageDocument): string {
  const { type } = action;
  if (!isActionType(type)) return `An action that the console does not know: ${String(type)}`;
  const of = details[type](action, document);
  return of === '' ? actionTypes[type].label : `${actionTypes[type].label}: ${of}`;
}

const text = (value: unknown) => (typeof value === 'string' ? shortened(value) : '');

const details: Record<ActionType, (action: Action, document: PageDocument) => string> = {
  TRIGGER_WORKFLOW: ({ alias }) => text(alias),
  EXECUTE_QUERY: ({ alias }) => text(alias),
  SET_VARIABLE: ({ key }) => text(key),
  CONFIRM: ({ message }) => text(message),
  SHOW_TOAST: ({ message }) => text(message),
  OPEN_PAGE: () => '',
  CALL_WIDGET_METHOD: ({ widgetKey }, document) => titleOfWidget(document, widgetKey),
  TRIGGER_QUERY: () => '',
  OPEN_RUN: ({ instanceID }) => text(instanceID),
  STOP_RUN: ({ instanceID }) => text(instanceID),
  RERUN: ({ instanceID }) => text(instanceID),
  NAVIGATE: ({ url }) => text(url),
  COPY: ({ value }) => text(value),
  DOWNLOAD: ({ fileName }) => text(fileName),
};

const MAX_SHOWN = 60;

function shortened(value: string): string {
  return value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}…` : value;
}

/** The key of the widget that an action names, by its key or by its name in expressions. */
export function keyOfWidget(document: PageDocument, named: unknown): string | undefined {
  if (typeof named !== 'string') return undefined;
  if (Object.hasOwn(document.widgets, named)) return named;
  return [...namesOfWidgets(document)].find(([, name]) => name === named)?.[0];
}

function titleOfWidget(document: PageDocument, named: unknown): string {
  const key = keyOfWidget(document, named);
  return (key && document.widgets[key]?.title) ?? text(named);
}
