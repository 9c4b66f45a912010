import { Handle, type Node, useUpdateNodeInternals } from '@xyflow/react';
import { type ReactNode, useContext, useEffect } from 'react';
import { Icon } from '../ui/icon.tsx';
import type { Tone } from '../ui/status.tsx';
import { NEXT, partOfSide, type ShownExit } from './exits.ts';
import type { KindWords } from './kinds.ts';
import { type Flow, HEIGHT, WIDTH } from './lay-out.ts';
import type { Point } from './shown.ts';
import { EditedGraph, handlesOf, sides } from './view.tsx';

interface Props {
  id: string;
  title: string;
  words: KindWords;
  flow: Flow;
  tone: Tone | 'none' | undefined;
  exits: readonly ShownExit[];
  isDisabled?: boolean;
  /** No edge leads to it. */
  begins?: boolean | undefined;
  /** One line of what the step does. */
  line: string;
  /** The line says why the step has failed. */
  isFailure?: boolean;
  /** Tests take a result that was given to it. */
  isPinned?: boolean;
  /** Its fate in a change that is shown. */
  mark?: 'added' | 'changed' | 'removed' | undefined;
  /** The state of the step, or its faults. */
  children?: ReactNode;
}

/** A step of a graph: icon, title, kind, what it does, and its state. */
export function StepCard({
  id,
  title,
  words,
  flow,
  tone,
  exits,
  isDisabled = false,
  begins = false,
  line,
  isFailure = false,
  isPinned = false,
  mark,
  children,
}: Props) {
  const isEdited = useContext(EditedGraph) !== undefined;
  return (
    <div
      className={isEdited ? 'node editable' : 'node'}
      data-tone={tone}
      data-disabled={isDisabled || undefined}
      data-mark={mark}
    >
      <Handle
        type="target"
        position={sides[flow].target}
        isConnectable={isEdited && !begins}
        className={begins ? 'no-entry' : ''}
      />
      <div className="node-title">
        <span className="node-icon" data-group={words.group}>
          <Icon name={words.icon} size={15} />
        </span>
        <strong title={title}>{title}</strong>
        {isPinned && (
          <span className="node-pin" title="Pinned: tests take its result and do not run it">
            <Icon name="pin" size={13} />
          </span>
        )}
      </div>
      <div className="node-kind">
        <span>{isDisabled ? `${words.word}, disabled` : words.word}</span>
        {children}
      </div>
      <div className="node-line" data-tone={isFailure ? 'bad' : undefined} title={line}>
        {line}
      </div>
      <ExitHandles id={id} step={id} exits={exits} flow={flow} />
    </div>
  );
}

/** Data that the node of every card has. */
export interface CardData extends Record<string, unknown> {
  exits: readonly ShownExit[];
  flow: Flow;
}

interface CardState {
  position: Point | undefined;
  isSelected: boolean;
  /** The name for screen readers. */
  label: string;
}

/** The node of a card as React Flow takes it, with the size and the handles that edges need before the card is drawn. */
export function cardNode<Data extends CardData>(
  id: string,
  data: Data,
  { position = { x: 0, y: 0 }, isSelected, label }: CardState,
): Node<Data, 'step'> {
  const { exits, flow } = data;
  return {
    ...{ id, type: 'step', position, data, selected: isSelected, ariaLabel: label },
    // Edges are drawn anew when these change.
    ...{ sourcePosition: sides[flow].source, targetPosition: sides[flow].target },
    ...{ width: WIDTH, height: HEIGHT, measured: { width: WIDTH, height: HEIGHT } },
    handles: handlesOf(exits, flow),
  };
}

interface HandlesProps {
  /** The node of the graph that has them. */
  id: string;
  step: string;
  exits: readonly ShownExit[];
  flow: Flow;
}

/** A handle for each exit. One that leads nowhere yet has its name and a button beside it; others have these on their edge. */
export function ExitHandles({ id, step, exits, flow }: HandlesProps) {
  const actions = useContext(EditedGraph);
  const update = useUpdateNodeInternals();
  const drawn = `${flow} ${exits.map((exit) => exit.id).join('\n')}`;
  // biome-ignore lint/correctness/useExhaustiveDependencies: edges begin elsewhere when these are others
  useEffect(() => update(id), [drawn, id, update]);
  return exits.map((exit, index) => {
    const at = `${partOfSide(exits, index) * 100}%`;
    const style = flow === 'down' ? { left: at } : { top: at };
    return (
      <div key={exit.id}>
        <Handle
          id={exit.id}
          type="source"
          position={sides[flow].source}
          isConnectable={actions !== undefined}
          style={style}
          className={exit.id === 'error' || exit.isRefused ? 'bad-exit' : exit.isFailing ? 'failing-exit' : ''}
          title={titleOf(exit)}
        />
        {exit.isReturn && exit.name !== NEXT && (
          <div className={`open-exit ${flow}`} data-exit={exit.id} style={style}>
            <span className="exit-name" title={titleOf(exit)}>
              {exit.name} ↺
            </span>
          </div>
        )}
        {actions && !exit.isConnected && (
          <div className={`open-exit nodrag nopan ${flow}`} data-exit={exit.id} style={style}>
            {(exits.length > 1 || exit.name !== NEXT) && (
              <span className="exit-name" data-failing={exit.isFailing} title={titleOf(exit)}>
                {exit.name}
              </span>
            )}
            <button
              type="button"
              className="add-here"
              tabIndex={-1}
              aria-label={`Add a step: ${exit.name}`}
              title={`Add a step: ${exit.name}`}
              onClick={() => actions.onAddBehind(step, exit.id)}
            >
              <Icon name="plus" size={12} />
            </button>
          </div>
        )}
      </div>
    );
  });
}

function titleOf({ name, isRefused, isFailing, isReturn }: ShownExit): string {
  if (isRefused) return `There is no exit “${name}”`;
  if (isReturn) return `${name}: goes on with the next item`;
  return isFailing ? `${name}: nothing follows, and a run that leaves by it fails` : name;
}
