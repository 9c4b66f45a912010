import { flag, text } from '../page-context.ts';
import { colourOf, HEIGHT, type MarksProps, WIDTH } from './drawing.ts';
import { axisOf, type Dataset, stackedOf } from './shapes.ts';

const LEFT = 56;
const BOTTOM = 40;
const TOP = 10;
const RIGHT = 10;
const inner = { width: WIDTH - LEFT - RIGHT, height: HEIGHT - TOP - BOTTOM };

interface Axis {
  low: number;
  high: number;
  ticks: readonly number[];
}

const atY = ({ low, high }: Axis, value: number) => TOP + inner.height * (1 - (value - low) / (high - low));
const atX = ({ low, high }: Axis, value: number) => LEFT + (inner.width * (value - low)) / (high - low);
const short = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 2 });

function Ground({ y, xLabel, yLabel }: { y: Axis; xLabel: unknown; yLabel: unknown }) {
  return (
    <g className="ground">
      {y.ticks.map((tick) => (
        <g key={tick}>
          <line x1={LEFT} x2={WIDTH - RIGHT} y1={atY(y, tick)} y2={atY(y, tick)} />
          <text x={LEFT - 6} y={atY(y, tick) + 4} textAnchor="end">
            {short.format(tick)}
          </text>
        </g>
      ))}
      <text x={LEFT + inner.width / 2} y={HEIGHT - 4} textAnchor="middle">
        {text(xLabel)}
      </text>
      <text x={-(TOP + inner.height / 2)} y={12} transform="rotate(-90)" textAnchor="middle">
        {text(yLabel)}
      </text>
    </g>
  );
}

const MAX_WORDS = 12;

/** As many labels as have room. */
function Labels({ labels }: { labels: readonly string[] }) {
  const every = Math.max(1, Math.ceil(labels.length / MAX_WORDS));
  const step = inner.width / Math.max(labels.length, 1);
  const most = Math.max(4, Math.floor((step * every) / 7));
  return (
    <g className="ground">
      {labels.map(
        (label, at) =>
          at % every === 0 && (
            <text key={label} x={LEFT + step * (at + 0.5)} y={HEIGHT - BOTTOM + 16} textAnchor="middle">
              {label.length > most ? `${label.slice(0, most - 1)}…` : label}
            </text>
          ),
      )}
    </g>
  );
}

function allValues(datasets: readonly Dataset[], stacked: ReturnType<typeof stackedOf> | undefined): number[] {
  return stacked ? stacked.flatMap((bars) => bars.map(({ to }) => to)) : datasets.flatMap(({ values }) => values);
}

export function BarMarks({ data: { labels, datasets }, properties, onMark }: MarksProps) {
  const stacked = flag(properties.isStacked) ? stackedOf(datasets, labels.length) : undefined;
  const y = axisOf(allValues(datasets, stacked), true);
  const step = inner.width / Math.max(labels.length, 1);
  const width = (step * 0.8) / (stacked ? 1 : Math.max(datasets.length, 1));
  return (
    <>
      <Ground y={y} xLabel={properties.xLabel} yLabel={properties.yLabel} />
      <Labels labels={labels} />
      {datasets.map(({ name, values }, set) =>
        labels.map((label, at) => {
          const { from, to } = stacked?.[set]?.[at] ?? { from: 0, to: values[at] ?? 0 };
          const [top, bottom] = [atY(y, Math.max(from, to)), atY(y, Math.min(from, to))];
          return (
            // biome-ignore lint/a11y/noStaticElementInteractions: the table of the figures is for the keyboard
            <rect
              key={label}
              x={LEFT + step * at + step * 0.1 + (stacked ? 0 : width * set)}
              y={top}
              width={Math.max(width, 0.5)}
              height={Math.max(bottom - top, 0)}
              fill={colourOf(set)}
              onClick={() => onMark({ series: name, label, value: values[at] ?? 0 })}
            >
              <title>{`${name}, ${label}: ${values[at] ?? 0}`}</title>
            </rect>
          );
        }),
      )}
    </>
  );
}

export function LineMarks({ data: { labels, datasets }, properties, onMark }: MarksProps) {
  const stacked = flag(properties.isStacked) ? stackedOf(datasets, labels.length) : undefined;
  const y = axisOf(allValues(datasets, stacked), stacked !== undefined);
  const step = inner.width / Math.max(labels.length, 1);
  return (
    <>
      <Ground y={y} xLabel={properties.xLabel} yLabel={properties.yLabel} />
      <Labels labels={labels} />
      {datasets.map(({ name, values }, set) => {
        const points = labels.map((label, at) => ({
          ...{ label, value: values[at] ?? 0, x: LEFT + step * (at + 0.5) },
          y: atY(y, stacked?.[set]?.[at]?.to ?? values[at] ?? 0),
        }));
        return (
          <g key={name}>
            <polyline
              points={points.map((point) => `${point.x},${point.y}`).join(' ')}
              fill="none"
              stroke={colourOf(set)}
              strokeWidth={2}
            />
            {points.map((point) => (
              // biome-ignore lint/a11y/noStaticElementInteractions: the table of the figures is for the keyboard
              <circle
                key={point.label}
                cx={point.x}
                cy={point.y}
                r={3}
                fill={colourOf(set)}
                onClick={() => onMark({ series: name, label: point.label, value: point.value })}
              >
                <title>{`${name}, ${point.label}: ${point.value}`}</title>
              </circle>
            ))}
          </g>
        );
      })}
    </>
  );
}

const MAX_RADIUS = 24;

export function PointMarks({ data: { datasets }, properties, onMark }: MarksProps) {
  const all = datasets.flatMap(({ points }) => points);
  const [x, y] = [
    axisOf(
      all.map((point) => point.x),
      false,
    ),
    axisOf(
      all.map((point) => point.y),
      false,
    ),
  ];
  const largest = Math.max(...all.map(({ r }) => Math.abs(r)), 0);
  return (
    <>
      <Ground y={y} xLabel={properties.xLabel} yLabel={properties.yLabel} />
      <g className="ground">
        {x.ticks.map((tick) => (
          <text key={tick} x={atX(x, tick)} y={HEIGHT - BOTTOM + 16} textAnchor="middle">
            {short.format(tick)}
          </text>
        ))}
      </g>
      {datasets.map(({ name, points }, set) =>
        points.map((point, at) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the table of the figures is for the keyboard
          <circle
            // biome-ignore lint/suspicious/noArrayIndexKey: points have no ids
            key={`${set} ${at}`}
            cx={atX(x, point.x)}
            cy={atY(y, point.y)}
            // The area tells the value.
            r={largest > 0 ? Math.max(2, Math.sqrt(Math.abs(point.r) / largest) * MAX_RADIUS) : 4}
            fill={colourOf(set)}
            fillOpacity={0.7}
            onClick={() => onMark({ series: name, ...point })}
          >
            <title>{`${name}: ${point.x}, ${point.y}`}</title>
          </circle>
        )),
      )}
    </>
  );
}
