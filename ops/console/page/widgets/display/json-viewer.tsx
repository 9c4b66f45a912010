import { isObject } from '../../../ui/is-object.ts';
import { Nothing } from '../nothing.tsx';
import { firstResult, number, type WidgetProps } from '../page-context.ts';

const MAX_PARTS = 100;
const MAX_TEXT = 500;
const MAX_DEPTH = 30;

export function JSONViewerWidget({ title, properties: { value, depth }, data }: WidgetProps) {
  const shown = parsed(value === undefined || value === '' ? firstResult(data) : value);
  if (shown === undefined) return <Nothing />;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section className="json page-json" tabIndex={0} aria-label={title}>
      <Value value={shown} open={number(depth) ?? 2} level={0} />
    </section>
  );
}

/** A text may be JSON itself. */
function parsed(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function Value({ value, open, level }: { value: unknown; open: number; level: number }) {
  if (!Array.isArray(value) && !isObject(value)) return <code dir="auto">{plain(value)}</code>;
  const entries: [string, unknown][] = Array.isArray(value)
    ? value.slice(0, MAX_PARTS).map((one, at) => [String(at), one])
    : Object.entries(value);
  const count = Array.isArray(value) ? value.length : entries.length;
  const words = Array.isArray(value) ? `list of ${count.toLocaleString()}` : `object of ${count.toLocaleString()}`;
  if (count === 0) return <code>{Array.isArray(value) ? '[]' : '{}'}</code>;
  if (level >= MAX_DEPTH) return <code>{words}</code>;
  return (
    <details open={level < open}>
      <summary>{words}</summary>
      <ul>
        {entries.slice(0, MAX_PARTS).map(([key, one]) => (
          <li key={key}>
            <bdi className="key">{key}</bdi>: <Value value={one} open={open} level={level + 1} />
          </li>
        ))}
        {count > MAX_PARTS && <li>… {(count - MAX_PARTS).toLocaleString()} more</li>}
      </ul>
    </details>
  );
}

function plain(value: unknown): string {
  const words = JSON.stringify(value) ?? 'undefined';
  return words.length > MAX_TEXT ? `${words.slice(0, MAX_TEXT)}…` : words;
}
