import '../../../chart/chart.css';
import { Nothing } from '../nothing.tsx';
import { text, usePage, type WidgetProps } from '../page-context.ts';
import { BarMarks, LineMarks, PointMarks } from './cartesian.tsx';
import { colourOf, HEIGHT, WIDTH } from './drawing.ts';
import { PieMarks, RadarMarks } from './round.tsx';
import { type ChartData, chartData } from './shapes.ts';

const marks = {
  bar: BarMarks,
  line: LineMarks,
  scatter: PointMarks,
  bubble: PointMarks,
  pie: PieMarks,
  polarArea: PieMarks,
  radar: RadarMarks,
};

interface Props extends WidgetProps {
  type: keyof typeof marks;
}

/** A chart of data that the server has shaped, and the same figures as a table. */
export function ChartWidget({ type, widgetKey, title, properties, data }: Props) {
  const page = usePage();
  const Marks = marks[type];
  const shown = chartData(properties.data ?? data?.data ?? properties.sampleData);
  const hasMarks =
    Marks === PointMarks
      ? shown.datasets.some(({ points }) => points.length > 0)
      : shown.labels.length > 0 && shown.datasets.length > 0;
  if (!hasMarks) return <Nothing />;
  const isRound = type === 'pie' || type === 'polarArea';
  const names = isRound ? shown.labels : shown.datasets.map(({ name }) => name);
  const onMark = (event: Readonly<Record<string, unknown>>) => {
    page.expose(widgetKey, { selectedMark: event });
    void page.fire(widgetKey, 'onMarkClick', event);
  };
  return (
    <div className="page-chart">
      {properties.showLegend !== false && names.length > 0 && <Legend names={names} />}
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true" className="chart">
        <Marks {...{ data: shown, properties, onMark }} isArea={type === 'polarArea'} />
      </svg>
      <details className="group">
        <summary>Figures</summary>
        <Figures {...{ title, isRound, data: shown }} {...(page.hasActions(widgetKey, 'onMarkClick') && { onMark })} />
      </details>
    </div>
  );
}

const MAX_NAMES = 20;

function Legend({ names }: { names: readonly string[] }) {
  return (
    <ul className="legend" aria-hidden="true">
      {names.slice(0, MAX_NAMES).map((name, at) => (
        <li key={name}>
          <svg width="12" height="12" aria-hidden="true">
            <rect width="12" height="12" rx="2" fill={colourOf(at)} />
          </svg>{' '}
          <bdi>{name}</bdi>
        </li>
      ))}
    </ul>
  );
}

const MAX_ROWS = 200;

type Mark = Readonly<Record<string, unknown>>;

interface Cell {
  shown: unknown;
  /** The event of a click on the mark of this figure. */
  mark?: Mark;
}

function figuresOf({ labels, datasets }: ChartData, isRound: boolean): Cell[][] {
  if (labels.length === 0)
    return datasets.flatMap(({ name, points }) =>
      points.map((point) => [
        { shown: name },
        { shown: point.x },
        { shown: point.y, mark: { series: name, ...point } },
      ]),
    );
  return labels.map((label, at) => [
    { shown: label },
    ...datasets.map(({ name, values }) => {
      const value = values[at] ?? 0;
      return { shown: value, mark: isRound ? { label, value } : { series: name, label, value } };
    }),
  ]);
}

interface FiguresProps {
  title: string;
  data: ChartData;
  isRound: boolean;
  onMark?: (mark: Mark) => void;
}

/** The figures of a chart. Where marks can be clicked, those who use no mouse press the figures. */
function Figures({ title, data, isRound, onMark }: FiguresProps) {
  const { datasets } = data;
  const isPoints = data.labels.length === 0;
  const rows = figuresOf(data, isRound);
  const heads = isPoints ? ['Series', 'x', 'y'] : ['Label', ...datasets.map(({ name }) => name)];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section className="scroller" tabIndex={0} aria-label={`Figures of ${title}`}>
      <table className="list dense">
        <thead>
          <tr>
            {heads.map((head, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: two datasets may have one name
              <th key={at} scope="col">
                <bdi>{head}</bdi>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MAX_ROWS).map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows of a chart have no ids
            <tr key={at}>
              {row.map(({ shown, mark }, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: as above
                <td key={column}>
                  {mark && onMark ? (
                    <button type="button" className="plain link" onClick={() => onMark(mark)}>
                      <bdi>{text(shown)}</bdi>
                    </button>
                  ) : (
                    <bdi>{text(shown)}</bdi>
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
