import { ANY } from '#shared/workflow/nodes/results.ts';
import type { Value, Values } from '../../../values/value.ts';
import type { PageDocument } from '../../document.ts';
import { variablesOf } from '../config.ts';

/** Values that the server fills in inputs of queries that a widget binds itself: variables of the page, as `state`. */
export function stateValues({ config }: Pick<PageDocument, 'config'>): Values {
  const values: Value[] = variablesOf(config).map(({ key }) => ({
    ...{ path: ['state', key], name: key, shape: ANY, sample: undefined },
  }));
  const input: Value = { path: ['state'], name: 'state', shape: { type: 'object' }, sample: undefined };
  return {
    ...{ input, groups: values.length > 0 ? [{ title: 'Variables', values }] : [] },
    ...{ source: 'page', roots: ['state'], elsewhere: new Map(), open: new Set() },
  };
}
