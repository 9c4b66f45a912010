import 'react-grid-layout/css/styles.css';
import { useElementSize } from '@mantine/hooks';
import { memo, useMemo, useState } from 'react';
import { GridLayout, type LayoutItem, noCompactor } from 'react-grid-layout';
import { InputForm, Question } from '../../apps/lazy-forms.ts';
import type { PageState } from '../../page/state/page-state.ts';
import { PageShell } from '../../page/view.tsx';
import { Widget } from '../../page/widgets/frame.tsx';
import { chooseAt } from '../canvas/canvas.tsx';
import { useCanvas, useIsChosen } from '../canvas/canvas-state.ts';
import { StillWidget } from '../canvas/part-box.tsx';
import type { PageDocument } from '../document.ts';
import { layoutFor, type Screen, screens, setCell } from '../grid-edits.ts';

/** The room between cells, and the height of a row, as the page has them. */
const GAP = 16;
const ROW = 40;

interface Props {
  page: PageState;
  document: PageDocument;
  screen: Screen;
}

/** The widgets of a dashboard in the grid of one width: they are dragged, and made larger by their corners. */
export function Grid({ page, document: { config, widgets }, screen }: Props) {
  const canvas = useCanvas();
  const { ref, width } = useElementSize();
  const [drops, setDrops] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: after a drop that changes nothing, others go back to where they were
  const cells = useMemo(() => layoutFor(config, screen), [config, screen, drops]);
  const drop = (_layout: unknown, _before: unknown, item: LayoutItem | null) => {
    if (item) canvas.edit(setCell(screen, item));
    setDrops(drops + 1);
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the list of parts, and of the page
    // biome-ignore lint/a11y/noStaticElementInteractions: as above
    <div ref={ref} className="builder-page" onClick={(event) => chooseAt(event, canvas)}>
      {/* Where an element has this id, the grid adds no styles of its own, which the policy of the console refuses. */}
      <span id="react-draggable-style-el" hidden />
      <PageShell page={page} {...{ Question, InputForm }}>
        {cells.length === 0 && (
          <p className="builder-empty">This dashboard is empty. Add a figure, a chart or a table.</p>
        )}
        {width > 0 && (
          <GridLayout
            width={width}
            layout={cells}
            gridConfig={{ cols: screens[screen], rowHeight: ROW, margin: [GAP, GAP], containerPadding: [0, 0] }}
            dragConfig={{ threshold: 5 }}
            resizeConfig={{ handles: ['se'] }}
            // A stored cell stays where it is until a person moves it.
            compactor={noCompactor}
            onDragStop={drop}
            onResizeStop={drop}
          >
            {cells.map(({ i }) => (
              <div key={i}>
                <Cell widgetKey={i} name={widgets[i]?.title ?? 'A widget that is gone'} />
              </div>
            ))}
          </GridLayout>
        )}
      </PageShell>
    </div>
  );
}

const Cell = memo(function OneCell({ widgetKey, name }: { widgetKey: string; name: string }) {
  const isChosen = useIsChosen(widgetKey) !== 'no';
  return (
    // biome-ignore lint/a11y/useSemanticElements: a part of the page, which is no group of fields
    <div
      role="group"
      aria-label={name}
      tabIndex={-1}
      className="builder-part builder-cell page-part"
      data-part={widgetKey}
      data-chosen={isChosen || undefined}
    >
      <StillWidget widgetKey={widgetKey}>
        <Widget widgetKey={widgetKey} />
      </StillWidget>
      {isChosen && (
        <span className="builder-tag" aria-hidden="true">
          <bdi>{name}</bdi>
        </span>
      )}
    </div>
  );
});
