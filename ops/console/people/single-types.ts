import type { PickedType } from '../client/references.ts';

/** Types of which single assets may be granted, by the resource that permissions name. */
export const singleTypes: Readonly<Partial<Record<string, PickedType>>> = {
  workflow: 'workflow',
  dataquery: 'dataQuery',
  datasource: 'datasource',
  cronjob: 'cronJob',
  listener: 'listener',
  widget: 'widget',
  dashboard: 'dashboard',
  appPage: 'appPage',
  variable: 'variable',
};
