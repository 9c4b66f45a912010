import { Button } from '@mantine/core';
import { useState } from 'react';
import { withoutTurning } from '../code/turning.ts';

/** More than this makes a page slow; all of it can be saved as a file. */
const MAX_SHOWN = 50_000;

/** Each key that is pressed in a field writes all of its text anew, although only what is in view is drawn. */
export const MAX_EDITED = 1_000_000;

/** A value as text: what a tenant has stored is never read as markup. */
export function JSONView({ value, label }: { value: unknown; label: string }) {
  const [isAll, setAll] = useState(false);
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'undefined');
  const isCut = text.length > MAX_SHOWN && !isAll;
  return (
    <div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <section className="json" tabIndex={0} aria-label={label}>
        <pre dir="auto">{withoutTurning(isCut ? text.slice(0, MAX_SHOWN) : text)}</pre>
      </section>
      {isCut && (
        <p>
          The first {MAX_SHOWN.toLocaleString()} of {text.length.toLocaleString()} characters.{' '}
          <Button size="compact-xs" variant="default" onClick={() => setAll(true)}>
            Show all
          </Button>
        </p>
      )}
    </div>
  );
}
