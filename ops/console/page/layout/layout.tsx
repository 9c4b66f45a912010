import { useElementSize } from '@mantine/hooks';
import { type CSSProperties, useMemo } from 'react';
import { Widget } from '../widgets/frame.tsx';
import { useContent } from '../widgets/page-context.ts';
import { useAnchors } from './anchors.tsx';
import { TabParts } from './tabs.tsx';
import { gridOf, layoutOf, type Part, readingOrder, spansOf } from './tree.ts';

/** The widgets of a page, by its layout. On a narrow screen all stand below one another (`page.css`). */
export function PageLayout() {
  const { config } = useContent();
  const { PartBox } = useAnchors();
  const root = useMemo(() => layoutOf(config), [config]);
  return (
    <PartBox part={root} className="page-layout">
      <Shown part={root} />
    </PartBox>
  );
}

function Shown({ part }: { part: Part }) {
  const { PartBox } = useAnchors();
  const { kind, children, gap, isSideBySide, sizing, height } = part;
  const size = { ...(gap !== undefined && { gap }), ...(sizing === 'fixed' && height !== undefined && { height }) };
  if (kind === 'widget') return <WidgetPart part={part} />;
  const spans = kind === 'row' ? spansOf(children) : children.map(({ span }) => span ?? COLUMNS);
  return (
    <div className={classOf(kind, isSideBySide)} style={size}>
      {children.map((child, at) => (
        <PartBox key={child.id} part={child} style={{ '--span': spans[at] ?? 1 } as CSSProperties}>
          <Shown part={child} />
        </PartBox>
      ))}
    </div>
  );
}

const COLUMNS = 12;

function classOf(kind: Part['kind'], isSideBySide: boolean): string {
  if (kind === 'row') return 'page-row';
  if (kind === 'z-stack') return 'page-z-stack';
  if (kind === 'stack' && isSideBySide) return 'page-side-by-side';
  return kind === 'container' ? 'page-column page-container' : 'page-column';
}

function WidgetPart({ part: { widgetKey, children, sizing, height } }: { part: Part }) {
  const { WidgetBox } = useAnchors();
  const style = sizing === 'fixed' && height !== undefined ? { height, overflow: 'auto' } : {};
  return (
    <div className="page-part" style={style} data-sizing={sizing}>
      <WidgetBox widgetKey={widgetKey}>
        <Widget widgetKey={widgetKey} />
      </WidgetBox>
      {children.length > 0 && (
        <TabParts widgetKey={widgetKey} parts={children} show={(part) => <Shown part={part} />} />
      )}
    </div>
  );
}

/** Least height of a row of the grid, in pixels. */
const ROW = 40;

/** The widgets of a dashboard in its grid, by the width that there is. */
export function DashboardLayout() {
  const content = useContent();
  const { WidgetBox } = useAnchors();
  const { ref, width } = useElementSize();
  const grid = useMemo(() => gridOf(content.config, width), [content.config, width]);
  const order = useMemo(() => readingOrder(content.config), [content.config]);
  // In the order in which they are read, so that the keyboard and a narrow screen have it too.
  const cells = new Map(grid?.cells.map((cell) => [cell.widgetKey, cell]));
  const style: CSSProperties = grid
    ? { gridTemplateColumns: `repeat(${grid.columns}, minmax(0, 1fr))`, gridAutoRows: `minmax(${ROW}px, auto)` }
    : {};
  return (
    <div ref={ref} className={grid ? 'page-grid' : 'page-column'} style={style}>
      {width > 0 &&
        order.map((widgetKey) => {
          const cell = cells.get(widgetKey);
          const at: CSSProperties = cell
            ? { gridColumn: `${cell.x + 1} / span ${cell.w}`, gridRow: `${cell.y + 1} / span ${cell.h}` }
            : {};
          return (
            <div key={widgetKey} className="page-part" style={at}>
              <WidgetBox widgetKey={widgetKey}>
                <Widget widgetKey={widgetKey} />
              </WidgetBox>
            </div>
          );
        })}
    </div>
  );
}
