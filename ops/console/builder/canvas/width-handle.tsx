import { type PointerEvent, type RefObject, useState } from 'react';
import { COLUMNS, partOf, setPart, spanOf } from '../parts.ts';
import { useCanvas } from './canvas-state.ts';

interface Props {
  id: string;
  box: RefObject<HTMLElement | null>;
}

/** The edge by which the width of a part is dragged, in columns of twelve; the arrow keys do the same. */
export function WidthHandle({ id, box }: Props) {
  const canvas = useCanvas();
  const [dragged, setDragged] = useState<number>();
  const part = partOf(canvas.document(), id);
  const shown = dragged ?? spanOf(part?.node) ?? shownSpan(box.current);
  const set = (span: number) => canvas.edit(setPart(id, { span: within(span) }), `width of ${id}`);
  const onMove = (event: PointerEvent<HTMLDivElement>) => {
    if (!event.currentTarget.hasPointerCapture(event.pointerId) || !box.current?.parentElement) return;
    const { left } = box.current.getBoundingClientRect();
    const span = within(((event.clientX - left) / box.current.parentElement.clientWidth) * COLUMNS);
    box.current.style.setProperty('--span', String(span));
    setDragged(span);
  };
  const onEnd = () => {
    if (dragged !== undefined) set(dragged);
    setDragged(undefined);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a rule has no value
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label="Width in columns of twelve"
      aria-valuenow={shown}
      aria-valuemin={1}
      aria-valuemax={COLUMNS}
      tabIndex={0}
      className="builder-width"
      onPointerDown={(event) => {
        event.preventDefault();
        event.stopPropagation();
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={onMove}
      onPointerUp={onEnd}
      onPointerCancel={onEnd}
      onKeyDown={(event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        event.stopPropagation();
        set(shown + step);
      }}
    >
      {dragged !== undefined && <span>{dragged} of 12</span>}
    </div>
  );
}

function within(span: number): number {
  return Math.min(Math.max(Math.round(span), 1), COLUMNS);
}

/** The columns that a part without a width of its own takes now. */
function shownSpan(box: HTMLElement | null): number {
  return Number(box?.style.getPropertyValue('--span')) || COLUMNS;
}
