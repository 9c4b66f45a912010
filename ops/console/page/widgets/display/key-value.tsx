import { Cell } from '../../../ui/cell.tsx';
import { isObject } from '../../../ui/is-object.ts';
import { Nothing } from '../nothing.tsx';
import { firstResult, type WidgetProps } from '../page-context.ts';

const MAX_PAIRS = 200;

/** The property, else the first row of the query. */
export function KeyValueWidget({ properties: { values, layout }, data }: WidgetProps) {
  const result = firstResult(data);
  const row = isObject(values) && Object.keys(values).length > 0 ? values : Array.isArray(result) ? result[0] : result;
  if (!isObject(row) || Object.keys(row).length === 0) return <Nothing />;
  return (
    <dl className="page-pairs" data-layout={layout === 'column' ? 'column' : 'row'}>
      {Object.entries(row)
        .slice(0, MAX_PAIRS)
        .map(([name, value]) => (
          <div key={name}>
            <dt>
              <bdi>{name}</bdi>
            </dt>
            <dd>
              <Cell name={name} value={value ?? null} />
            </dd>
          </div>
        ))}
    </dl>
  );
}
