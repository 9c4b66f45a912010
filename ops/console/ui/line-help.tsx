import './line-help.css';
import { propertiesOf, type Schema } from './schema-shape.ts';
import { Words } from './words.tsx';

function shownOf(items: Schema) {
  return Object.entries(propertiesOf(items)).filter(([, { deprecated }]) => deprecated !== true);
}

/** Items of three fields are a line that reads as a sentence, which help in each of them would break: the same without it. */
function bare(items: Schema): Schema | undefined {
  const shown = shownOf(items);
  if (shown.length !== 3 || shown.some(([, { type }]) => type === 'object' || type === 'array')) return undefined;
  const fields = Object.entries(propertiesOf(items)).map(([name, { description: _, ...field }]) => [name, field]);
  return { ...items, properties: Object.fromEntries(fields) } as Schema;
}

/** The purposes of the fields of a line, behind a click. */
function Help({ of }: { of: Schema }) {
  return (
    <details className="note">
      <summary>How it is written</summary>
      {shownOf(of).map(
        ([name, { title, description }]) =>
          description !== undefined && (
            <div key={name}>
              <strong>{String(title ?? name)}</strong>: <Words text={String(description)} />
            </div>
          ),
      )}
    </details>
  );
}

export const line = { bare, Help };
