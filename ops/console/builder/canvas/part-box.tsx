import { draggable, dropTargetForElements } from '@atlaskit/pragmatic-drag-and-drop/element/adapter';
import { Button } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import type { PartBoxProps } from '../../page/layout/anchors.tsx';
import { Icon } from '../../ui/icon.tsx';
import { mayHold, nameOfPart, partOf } from '../parts.ts';
import { useCanvas, useIsChosen } from './canvas-state.ts';
import { WidthHandle } from './width-handle.tsx';

/** A part of the page on the canvas: it is chosen by a click, dragged, and shows where others can be put. */
export function PartBox({
  part: { id, kind, children: inside, sizing },
  className = '',
  style,
  children,
}: PartBoxProps) {
  const canvas = useCanvas();
  const state = useIsChosen(id);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const endTarget = dropTargetForElements({ element, getData: () => ({ partID: id }) });
    if (!partOf(canvas.document(), id)?.position) return endTarget;
    const endDrag = draggable({ element, getInitialData: () => ({ partID: id }) });
    return () => {
      endTarget();
      endDrag();
    };
  }, [canvas, id]);
  const document = canvas.document();
  const { node, parent, position } = partOf(document, id) ?? {};
  const isEmpty = inside.length === 0 && mayHold(document, node);
  const name = nameOfPart(document, id);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a part of the page, which is no group of fields
    <div
      ref={box}
      role="group"
      aria-label={name}
      tabIndex={-1}
      className={`builder-part ${className}`}
      style={style}
      data-part={id}
      data-kind={kind}
      data-sizing={sizing}
      data-chosen={state === 'no' ? undefined : true}
    >
      {children}
      {isEmpty && <EmptyPart id={id} isPage={!position} />}
      {state === 'alone' && position && (
        <>
          <span className="builder-tag" aria-hidden="true">
            <bdi>{name}</bdi>
          </span>
          {parent?.type !== 'widget' && <WidthHandle id={id} box={box} />}
        </>
      )}
    </div>
  );
}

function EmptyPart({ id, isPage }: { id: string; isPage: boolean }) {
  const canvas = useCanvas();
  return (
    <div className="builder-empty">
      {isPage && <p>This page is empty. Add a table, a figure, a form or a button, and choose what it shows.</p>}
      <Button
        size="xs"
        variant={isPage ? 'filled' : 'default'}
        leftSection={<Icon name="plus" size={14} />}
        onClick={(event) => {
          event.stopPropagation();
          canvas.add({ parentID: id, index: 0 });
        }}
      >
        {isPage ? 'Add the first widget' : 'Add here'}
      </Button>
    </div>
  );
}

/** A widget as it is drawn: while it is edited, a press on it chooses it. */
export function StillWidget({ widgetKey, children }: { widgetKey: string; children: ReactNode }) {
  const canvas = useCanvas();
  return (
    <div className="builder-still" inert data-title={canvas.document().widgets[widgetKey]?.title}>
      {children}
    </div>
  );
}
