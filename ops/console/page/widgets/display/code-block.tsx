import { withoutTurning } from '../../../code/turning.ts';
import { Copy } from '../../../ui/copy.tsx';
import { flag, text, type WidgetProps } from '../page-context.ts';

const MAX_SHOWN = 100_000;

export function CodeBlockWidget({ title, properties: { code, showLineNumbers } }: WidgetProps) {
  const all = text(code);
  const shown = all.slice(0, MAX_SHOWN);
  return (
    <div className="page-code">
      <Copy value={all} of={title} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <section className="json" tabIndex={0} aria-label={title}>
        {flag(showLineNumbers) && (
          <pre className="line-numbers" aria-hidden="true">
            {shown
              .split('\n')
              .map((_, at) => at + 1)
              .join('\n')}
          </pre>
        )}
        <pre dir="auto">
          <code>{withoutTurning(shown)}</code>
        </pre>
      </section>
    </div>
  );
}
