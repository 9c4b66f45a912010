import { Modal, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from 'react';
import { errorInPlaceOf } from '../../client/error-in-place.ts';
import { type WidgetTypes, widgetTypesRead } from '../../client/widget-types.ts';
import { countOf } from '../../ui/count.ts';
import { Icon, Outline } from '../../ui/icon.tsx';
import { outlines } from '../../ui/outlines.ts';
import { Problem } from '../../ui/problem.tsx';
import { pictures } from './pictures.ts';
import { groups, type Offer, offersFor, offersOf } from './widget-words.ts';

interface Props {
  tenantID: string;
  /** Whether parts that hold others can be added: a dashboard has none. */
  hasSections: boolean;
  /** Where it comes, in words. */
  where: string;
  onAdd: (offer: Offer, types: WidgetTypes) => void;
  /** One that is stored already is to be inserted. */
  onInsert: () => void;
  onClose: () => void;
}

/** Offers widgets and parts that hold others, by group and by words. */
export function AddDialog({ tenantID, hasSections, where, onAdd, onInsert, onClose }: Props) {
  const read = useQuery(widgetTypesRead(tenantID));
  const types = read.data;
  const offers = useMemo(() => (types ? offersOf(types, hasSections) : []), [types, hasSections]);
  const error = errorInPlaceOf(read);
  return (
    <Modal opened onClose={onClose} title="Add a widget" size="lg">
      {error && <Problem error={error} onRetry={() => void read.refetch()} />}
      <button type="button" className="plain link builder-insert" onClick={onInsert}>
        One that is there already, of this tenant or of the widget library
      </button>
      {/* Drawn before the types are read: a dialog sets the focus once, when it opens. */}
      <Offers
        offers={offers}
        isRead={types !== undefined}
        where={where}
        onChoose={(offer) => types && onAdd(offer, types)}
      />
    </Modal>
  );
}

interface OffersProps {
  offers: readonly Offer[];
  isRead: boolean;
  where: string;
  onChoose: (offer: Offer) => void;
}

function Offers({ offers, isRead, where, onChoose }: OffersProps) {
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const sections = useMemo(() => sectionsOf(typed, offers), [typed, offers]);
  const shown = sections.flatMap((section) => section.offers);
  const chosen = Math.min(at, shown.length - 1);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the chosen one is brought into view when it changes
  useEffect(() => {
    void list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const offer = shown[chosen];
    if (event.key === 'Enter' && offer) onChoose(offer);
    else if (step && shown.length > 0) setAt((chosen + step + shown.length) % shown.length);
    else return;
    event.preventDefault();
  };
  const indexes = new Map(shown.map((offer, index) => [offer, index]));
  return (
    <>
      <TextInput
        aria-label="Find a widget"
        placeholder="Find a widget: list, kpi, dropdown, chart …"
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
      <Text size="sm" c="dimmed" my={6}>
        <bdi>{where}</bdi>
      </Text>
      <div ref={list} id={id} role="listbox" aria-label="Widgets" className="builder-offers" tabIndex={-1}>
        {sections.map(({ title, offers: own }) => (
          // biome-ignore lint/a11y/useSemanticElements: a group of options, not of fields
          <div key={title} role="group" aria-label={title}>
            <h3 role="presentation">{title}</h3>
            {own.map((offer) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field
              <div
                key={offer.type}
                id={`${id}-${indexes.get(offer)}`}
                role="option"
                tabIndex={-1}
                aria-selected={indexes.get(offer) === chosen}
                className="builder-offer"
                onClick={() => onChoose(offer)}
              >
                <Outline path={pictures[offer.type] ?? outlines[offer.icon]} size={22} />
                <span>
                  {offer.word}
                  <small>{offer.sentence}</small>
                </span>
              </div>
            ))}
          </div>
        ))}
      </div>
      {isRead && (
        <Text size="sm" role="status" className={shown.length > 0 ? 'unseen' : undefined}>
          {shown.length > 0 ? countOf(shown.length, 'widget') : `Nothing is found for “${typed}”.`}
        </Text>
      )}
    </>
  );
}

function sectionsOf(typed: string, offers: readonly Offer[]): { title: string; offers: Offer[] }[] {
  if (typed.trim() !== '') return [{ title: 'Found', offers: offersFor(typed, offers) }];
  const sections = groups.map((title) => ({
    title: title as string,
    offers: offers.filter(({ group }) => group === title),
  }));
  return sections.filter((section) => section.offers.length > 0);
}
