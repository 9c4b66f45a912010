import { Text, TextInput } from '@mantine/core';
import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from 'react';
import { groups, type Kind, kindsFor, usual, wordsOf } from '../graph/kinds.ts';
import { countOf } from '../ui/count.ts';
import { Icon } from '../ui/icon.tsx';
import { usesOfKinds } from './kind-uses.ts';

interface ListProps {
  kinds: readonly Kind[];
  isReady: boolean;
  onChoose: (kind: Kind) => void;
}

/** Kinds of steps by group, or those that words find, with one that the keys choose. */
export function KindList({ kinds, isReady, onChoose }: ListProps) {
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const sections = useMemo(() => sectionsOf(typed, kinds), [typed, kinds]);
  const shown = sections.flatMap((section) => section.kinds);
  const chosen = Math.min(at, shown.length - 1);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the chosen one is brought into view when it changes
  useEffect(() => {
    void list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const kind = shown[chosen];
    if (event.key === 'Enter' && kind && isReady) onChoose(kind);
    else if (step && shown.length > 0) setAt((chosen + step + shown.length) % shown.length);
    else return;
    event.preventDefault();
  };
  let index = -1;
  return (
    <>
      <TextInput
        aria-label="Find a step"
        placeholder="Find a step: if, wait, merge, email, sql …"
        role="combobox"
        aria-expanded
        aria-controls={id}
        aria-activedescendant={shown[chosen] && `${id}-${chosen}`}
        data-autofocus
        leftSection={<Icon name="search" size={14} />}
        value={typed}
        onChange={({ currentTarget: { value } }) => {
          setTyped(value);
          setAt(0);
        }}
        onKeyDown={onKey}
      />
      <div ref={list} id={id} role="listbox" aria-label="Kinds of steps" className="kinds" tabIndex={-1}>
        {sections.map(({ title, kinds: own }) => (
          // biome-ignore lint/a11y/useSemanticElements: a group of options, not of fields
          <div key={title} role="group" aria-label={title}>
            <h3 role="presentation">{title}</h3>
            {own.map((kind) => {
              index += 1;
              return (
                <KindOption
                  key={kind.nodeType}
                  id={`${id}-${index}`}
                  kind={kind}
                  isChosen={index === chosen}
                  isReady={isReady}
                  onChoose={onChoose}
                />
              );
            })}
          </div>
        ))}
      </div>
      <Text size="sm" role="status" className={shown.length > 0 ? 'unseen' : undefined}>
        {shown.length > 0 ? countOf(shown.length, 'step') : `Nothing is found for “${typed}”.`}
      </Text>
      {!isReady && (
        <Text size="sm" c="var(--bad)">
          The step before has several exits: choose the one that leads here.
        </Text>
      )}
    </>
  );
}

interface OptionProps {
  id: string;
  kind: Kind;
  isChosen: boolean;
  isReady: boolean;
  onChoose: (kind: Kind) => void;
}

function KindOption({ id, kind, isChosen, isReady, onChoose }: OptionProps) {
  const { word, icon, group, sentence } = wordsOf(kind.nodeType, kind);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field
    <div
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={isChosen}
      aria-disabled={!isReady}
      className="kind"
      onClick={() => isReady && onChoose(kind)}
    >
      <span className="node-icon" data-group={group}>
        <Icon name={icon} />
      </span>
      <span>
        {word}
        <small>{sentence}</small>
      </span>
    </div>
  );
}

/** The kinds used most, then all by their groups; of those that words find, the best first. */
function sectionsOf(typed: string, kinds: readonly Kind[]): { title: string; kinds: Kind[] }[] {
  if (typed.trim() !== '') return [{ title: 'Found', kinds: kindsFor(typed, kinds) }];
  const uses = usesOfKinds();
  const ranked = [...new Set([...Object.keys(uses).toSorted((a, b) => (uses[b] ?? 0) - (uses[a] ?? 0)), ...usual])];
  const most = ranked.flatMap((type) => kinds.find(({ nodeType }) => nodeType === type) ?? []).slice(0, MOST);
  const others = kinds.filter((kind) => !most.includes(kind));
  const sections = groups.map((title) => ({
    title: title as string,
    kinds: others.filter(({ nodeType }) => wordsOf(nodeType, undefined).group === title),
  }));
  return [{ title: 'Used most', kinds: most }, ...sections].filter((section) => section.kinds.length > 0);
}

const MOST = 5;
