import { isObject } from '../../ui/is-object.ts';
import type { PlacedWidget } from './client.ts';

type Values = Readonly<Record<string, unknown>>;

export interface PageContent {
  /** The id of a page or a dashboard. */
  id: string;
  title: string;
  config: Values;
  widgets: readonly PlacedWidget[];
  viewer: Values;
  params: Readonly<Record<string, string>>;
}

/** The objects of a list in a config, whose shape is not sure. */
export function listIn(value: unknown): Values[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Values that expressions read of a workflow before its first run. */
export const NOT_STARTED = {
  instanceID: null,
  status: null,
  output: null,
  error: null,
  steps: [],
  questionID: null,
  isRunning: false,
};

/** The id of the properties of a widget among the values of a page. */
export const propertiesID = (key: string) => `properties of ${key}`;
/** The id of the data that a widget binds itself. */
export const widgetID = (key: string) => `widget ${key}`;
