import { isObject } from '../../../ui/is-object.ts';
import { Moment } from '../../../ui/time.tsx';
import { Nothing } from '../nothing.tsx';
import { rowsOf, text, usePage, type WidgetProps } from '../page-context.ts';

const MAX_ITEMS = 200;

export function TimelineWidget({ widgetKey, title, properties, data }: WidgetProps) {
  const page = usePage();
  const rows = rowsOf(properties, data);
  if (!Array.isArray(rows) || rows.length === 0) return <Nothing />;
  const { timeKey = 'time', titleKey = 'title', textKey } = properties;
  const isOpen = page.hasActions(widgetKey, 'onItemClick');
  return (
    <ol className="page-timeline" aria-label={title}>
      {rows.slice(0, MAX_ITEMS).map((item, at) => {
        const field = (key: unknown) => (isObject(item) ? text(item[text(key)]) : text(item));
        const time = field(timeKey);
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows of an answer have no ids
          <li key={at}>
            <span className="note">{Number.isNaN(Date.parse(time)) ? time : <Moment at={time} />}</span>
            {isOpen ? (
              <button
                type="button"
                className="plain link"
                onClick={() => void page.fire(widgetKey, 'onItemClick', { item })}
              >
                <bdi>{field(titleKey) || 'Without a name'}</bdi>
              </button>
            ) : (
              <strong>
                <bdi>{field(titleKey)}</bdi>
              </strong>
            )}
            {textKey !== undefined && <bdi>{field(textKey)}</bdi>}
          </li>
        );
      })}
    </ol>
  );
}
