import { isObject } from '../../../ui/is-object.ts';
import { Nothing } from '../nothing.tsx';
import { firstResult, text, type WidgetProps } from '../page-context.ts';
import { TypedCell } from './typed-cell.tsx';

const MAX_PAIRS = 200;

/** The property, else the first row of the query. */
export function KeyValueWidget({ properties: { values, columns, layout }, data }: WidgetProps) {
  const result = firstResult(data);
  const row = isObject(values) && Object.keys(values).length > 0 ? values : Array.isArray(result) ? result[0] : result;
  if (!isObject(row) || Object.keys(row).length === 0) return <Nothing />;
  return (
    <dl className="page-pairs" data-layout={layout === 'column' ? 'column' : 'row'}>
      {pairsOf(row, columns)
        .slice(0, MAX_PAIRS)
        .map(({ key, label, type, value }) => (
          <div key={key}>
            <dt>
              <bdi>{label}</bdi>
            </dt>
            <dd>
              <TypedCell name={label} type={type} value={value} />
            </dd>
          </div>
        ))}
    </dl>
  );
}

/** The values that are named, in their order; else all. */
function pairsOf(row: Readonly<Record<string, unknown>>, columns: unknown) {
  const named = Array.isArray(columns) ? columns.filter(isObject) : [];
  if (named.length === 0) return Object.entries(row).map(([key, value]) => ({ key, label: key, type: '', value }));
  const byKey = new Map(
    named.map(({ key, label, type }) => [text(key), { label: text(label, text(key)), type: text(type) }]),
  );
  return [...byKey].map(([key, own]) => ({ key, ...own, value: Object.hasOwn(row, key) ? row[key] : null }));
}
