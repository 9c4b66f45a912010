import { isObject } from '../../../ui/is-object.ts';
import { Nothing } from '../nothing.tsx';
import { rowsOf, text, usePage, type WidgetProps } from '../page-context.ts';
import { FileImage } from './image.tsx';

const MAX_ITEMS = 200;

export function ListWidget({ widgetKey, title, properties, data }: WidgetProps) {
  const page = usePage();
  const rows = rowsOf(properties, data);
  if (!Array.isArray(rows) || rows.length === 0) return <Nothing />;
  const { primaryKey = 'title', secondaryKey, imageKey } = properties;
  const isOpen = page.hasActions(widgetKey, 'onItemClick');
  const choose = (item: unknown) => {
    page.enter(widgetKey, { selectedItem: item });
    void page.fire(widgetKey, 'onItemClick', { item });
  };
  return (
    <>
      <ul className="page-list" aria-label={title}>
        {rows.slice(0, MAX_ITEMS).map((item, at) => {
          const field = (key: unknown) => (isObject(item) ? text(item[text(key)]) : '');
          const image = field(imageKey);
          const first = isObject(item) ? field(primaryKey) : text(item);
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows of an answer have no ids
            <li key={at}>
              {image !== '' && <FileImage src={image} alt="" />}
              <div>
                {isOpen ? (
                  <button type="button" className="plain link" onClick={() => choose(item)}>
                    <bdi>{first || 'Without a name'}</bdi>
                  </button>
                ) : (
                  <bdi>{first}</bdi>
                )}
                {secondaryKey !== undefined && (
                  <div className="note">
                    <bdi>{field(secondaryKey)}</bdi>
                  </div>
                )}
              </div>
            </li>
          );
        })}
      </ul>
      {rows.length > MAX_ITEMS && (
        <p className="note">
          The first {MAX_ITEMS} of {rows.length.toLocaleString()}.
        </p>
      )}
    </>
  );
}
