import { monitorForElements } from '@atlaskit/pragmatic-drag-and-drop/element/adapter';
import { type MouseEvent, useEffect, useRef, useState } from 'react';
import { InputForm, Question } from '../../apps/lazy-forms.ts';
import { AnchorContext, type Anchors } from '../../page/layout/anchors.tsx';
import { PageLayout } from '../../page/layout/layout.tsx';
import type { PageState } from '../../page/state/page-state.ts';
import { PageShell } from '../../page/view.tsx';
import { moveBeside, moveTo } from '../parts.ts';
import { type CanvasState, useCanvas } from './canvas-state.ts';
import { type Box, type Drop, dropAt } from './drop.ts';
import { PartBox, StillWidget } from './part-box.tsx';

const anchors: Anchors = { PartBox, WidgetBox: StillWidget };

/** The page as it is drawn, whose parts are chosen and moved. */
export function Canvas({ page }: { page: PageState }) {
  const canvas = useCanvas();
  const room = useRef<HTMLDivElement>(null);
  const line = useDrops(canvas, room);
  return (
    <AnchorContext value={anchors}>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the tree of parts, and of the page */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: as above */}
      <div ref={room} className="builder-page" onClick={(event) => chooseAt(event, canvas)}>
        <PageShell page={page} {...{ Question, InputForm }}>
          <PageLayout />
        </PageShell>
        {line && <div className="builder-line" style={line} />}
      </div>
    </AnchorContext>
  );
}

export function chooseAt(event: MouseEvent, { choose }: CanvasState): void {
  if (!(event.target instanceof Element) || event.target.closest('button, [role="separator"]')) return;
  const part = event.target.closest<HTMLElement>('[data-part]');
  if (!part?.dataset.part) return;
  choose(part.dataset.part, event.ctrlKey || event.metaKey || event.shiftKey);
  part.focus({ preventScroll: true });
}

/** Moves what is dragged, and answers the line that shows where it would go. */
function useDrops(canvas: CanvasState, room: React.RefObject<HTMLElement | null>): Box | undefined {
  const [line, setLine] = useState<Box>();
  useEffect(() => {
    const boxOf = (id: string) =>
      room.current?.querySelector(`[data-part="${CSS.escape(id)}"]`)?.getBoundingClientRect();
    let drop: Drop | undefined;
    const show = (next: Drop | undefined) => {
      drop = next;
      const own = room.current?.getBoundingClientRect();
      if (!next || !own) return setLine(undefined);
      const { left, top, width, height } = next.line;
      setLine({ left: left - own.left, top: top - own.top, width, height });
    };
    return monitorForElements({
      canMonitor: ({ source }) => typeof source.data.partID === 'string',
      onDragStart: ({ source }) => canvas.choose(String(source.data.partID)),
      onDrag({ source, location: { current } }) {
        const [target] = current.dropTargets;
        if (!target) return show(undefined);
        const ids = { targetID: String(target.data.partID), draggedID: String(source.data.partID) };
        const { clientX: x, clientY: y } = current.input;
        show(dropAt(canvas.document(), ids, { x, y }, boxOf));
      },
      onDrop({ source, location }) {
        const id = String(source.data.partID);
        const { position, beside } = location.current.dropTargets.length > 0 ? (drop ?? {}) : {};
        show(undefined);
        if (beside) canvas.edit(moveBeside(id, beside));
        if (position) canvas.edit(moveTo(id, position));
      },
    });
  }, [canvas, room]);
  return line;
}
