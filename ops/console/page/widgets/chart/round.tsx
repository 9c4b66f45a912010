import { colourOf, HEIGHT, type MarksProps, WIDTH } from './drawing.ts';

const CENTRE = { x: WIDTH / 2, y: HEIGHT / 2 };
const RADIUS = HEIGHT / 2 - 24;

function pointAt(share: number, radius: number): string {
  const angle = 2 * Math.PI * (share - 0.25);
  return `${CENTRE.x + radius * Math.cos(angle)},${CENTRE.y + radius * Math.sin(angle)}`;
}

/** Sectors by the sums of a label over all datasets; negative ones have none. */
export function PieMarks({ data: { labels, datasets }, isArea, onMark }: MarksProps) {
  const values = labels.map((_, at) =>
    Math.max(
      datasets.reduce((sum, { values: own }) => sum + (own[at] ?? 0), 0),
      0,
    ),
  );
  const total = values.reduce((sum, value) => sum + value, 0);
  const most = Math.max(...values, Number.MIN_VALUE);
  let from = 0;
  return values.map((value, at) => {
    const share = isArea ? 1 / values.length : value / (total || 1);
    const to = from + share;
    const radius = isArea ? RADIUS * Math.sqrt(value / most) : RADIUS;
    // A whole circle has the same beginning and end.
    const end = share >= 1 ? to - 0.0001 : to;
    const path = `M${CENTRE.x},${CENTRE.y} L${pointAt(from, radius)} A${radius},${radius} 0 ${share > 0.5 ? 1 : 0} 1 ${pointAt(end, radius)} Z`;
    from = to;
    const label = labels[at] ?? '';
    return (
      // biome-ignore lint/a11y/noStaticElementInteractions: the table of the figures is for the keyboard
      <path key={label} d={path} fill={colourOf(at)} stroke="var(--panel)" onClick={() => onMark({ label, value })}>
        <title>{`${label}: ${value}`}</title>
      </path>
    );
  });
}

export function RadarMarks({ data: { labels, datasets }, onMark }: MarksProps) {
  const most = Math.max(...datasets.flatMap(({ values }) => values), Number.MIN_VALUE);
  const shareOf = (at: number) => at / Math.max(labels.length, 1);
  return (
    <>
      <g className="ground">
        {[0.25, 0.5, 0.75, 1].map((part) => (
          <circle key={part} cx={CENTRE.x} cy={CENTRE.y} r={RADIUS * part} fill="none" />
        ))}
        {labels.map((label, at) => {
          const [x, y] = pointAt(shareOf(at), RADIUS + 14).split(',');
          return (
            <text key={label} x={x} y={y} textAnchor="middle">
              {label.slice(0, 16)}
            </text>
          );
        })}
      </g>
      {datasets.map(({ name, values }, set) => (
        // biome-ignore lint/a11y/noStaticElementInteractions: the table of the figures is for the keyboard
        <polygon
          key={name}
          points={labels.map((_, at) => pointAt(shareOf(at), (RADIUS * Math.max(values[at] ?? 0, 0)) / most)).join(' ')}
          fill={colourOf(set)}
          fillOpacity={0.2}
          stroke={colourOf(set)}
          strokeWidth={2}
          onClick={() => onMark({ series: name })}
        >
          <title>{name}</title>
        </polygon>
      ))}
    </>
  );
}
