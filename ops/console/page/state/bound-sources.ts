import { isObject } from '../../ui/is-object.ts';
import { compile, isFixed } from '../bindings/compile.ts';
import type { Source } from './source.ts';

type Values = Readonly<Record<string, unknown>>;

/** A data source of a page's config. */
export function querySource(given: Values, onState: Source['onState']): Source {
  const { alias, inputValues, triggerMode, refreshOn, refetchInterval } = given;
  const own = isObject(inputValues) ? inputValues : {};
  // Those without an expression are fixed by the page: the server has them.
  const open = Object.entries(own).filter(([, value]) => !isFixed(compile(value)));
  const isManual = triggerMode === 'manual';
  return {
    ...{ id: String(alias), onState, inputs: Object.fromEntries(open) },
    wanted: (values) => ({ kind: 'query', alias: String(alias), inputValues: values }),
    isAtOpening: !isManual,
    isReactive: triggerMode === 'reactive',
    refreshOn: !isManual && Array.isArray(refreshOn) ? refreshOn.filter((name) => typeof name === 'string') : [],
    everyMs: !isManual && typeof refetchInterval === 'number' ? refetchInterval : 0,
  };
}

/** The queries that a widget binds itself: they read variables of the page as `state`. */
export function widgetSource(
  { widgetKey, dataQueries, refreshInterval }: { widgetKey: string; dataQueries: unknown; refreshInterval: number },
  onState: Source['onState'],
): Source {
  const { names } = compile(dataQueries);
  const read = names.flatMap(({ root, key }) => (root === 'variables' && key !== null ? [key] : []));
  return {
    ...{ id: widgetKey, onState, isAtOpening: true, isReactive: true, refreshOn: [], everyMs: refreshInterval * 1_000 },
    inputs: Object.fromEntries(read.map((key) => [key, `{{variables[${JSON.stringify(key)}]}}`])),
    wanted: (state) => ({ kind: 'widget', widgetKey, state }),
  };
}
