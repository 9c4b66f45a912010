import { type RefObject, useLayoutEffect, useMemo, useRef } from 'react';
import { faultsIn } from './check.ts';
import { nativeFieldIn } from './native.ts';
import type { Syntax } from './path.ts';
import type { Values } from './value.ts';

/** Styles by which a text lies where the field has it. */
const COPIED = [
  ...(['font', 'letterSpacing', 'textAlign', 'textIndent', 'lineHeight', 'direction', 'boxSizing'] as const),
  ...(['paddingTop', 'paddingRight', 'paddingBottom', 'paddingLeft'] as const),
  ...(['borderTopWidth', 'borderRightWidth', 'borderBottomWidth', 'borderLeftWidth'] as const),
] as const;

interface Props {
  box: RefObject<Element | null>;
  text: string;
  values: Values;
  syntax: Syntax;
}

/** Lines below the names that are not there, in a field of the browser, which cannot mark parts of its text. */
export function Marks({ box, text, values, syntax }: Props) {
  const faults = useMemo(() => faultsIn(text, values, syntax), [text, values, syntax]);
  const hasFaults = faults.length > 0;
  const layer = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { current: around } = box;
    const field = nativeFieldIn(around);
    const own = layer.current;
    if (!hasFaults || !around || !field || !own) return;
    const draw = () => {
      const style = getComputedStyle(field);
      for (const name of COPIED) own.style[name] = style[name];
      const [at, from] = [field.getBoundingClientRect(), around.getBoundingClientRect()];
      own.style.top = `${at.top - from.top}px`;
      own.style.left = `${at.left - from.left}px`;
      own.style.width = `${at.width}px`;
      own.style.height = `${at.height}px`;
      own.style.whiteSpace = field instanceof HTMLTextAreaElement ? 'pre-wrap' : 'pre';
      own.scrollLeft = field.scrollLeft;
      own.scrollTop = field.scrollTop;
    };
    draw();
    const watcher = new ResizeObserver(draw);
    watcher.observe(field);
    for (const event of ['scroll', 'keyup', 'select', 'input'] as const) field.addEventListener(event, draw);
    return () => {
      watcher.disconnect();
      for (const event of ['scroll', 'keyup', 'select', 'input'] as const) field.removeEventListener(event, draw);
    };
  }, [box, hasFaults]);
  if (!hasFaults) return null;
  const starts = faults.map((_, index) => faults[index - 1]?.to ?? 0);
  return (
    <div ref={layer} className="value-marks" aria-hidden="true">
      {faults.map(({ from, to }, index) => (
        <span key={from}>
          {text.slice(starts[index], from)}
          <span className="value-fault">{text.slice(from, to)}</span>
        </span>
      ))}
      {text.slice(faults.at(-1)?.to)}
    </div>
  );
}
