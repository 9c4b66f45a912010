import './chart.css';
import { lazy, Suspense } from 'react';
import { type Drawn, HEIGHT, type Series } from './series.ts';

const Plot = lazy(() => import('./plot.tsx').then(({ Plot: one }) => ({ default: one })));

/** A drawing, which says nothing to a screen reader: a table with the same figures stands beside it. */
export function Chart(drawn: Drawn) {
  return (
    <div className="chart" aria-hidden="true">
      <ul className="legend">
        {drawn.series.map((one) => (
          <li key={one.name}>
            <Sample of={one} /> {one.name}
          </li>
        ))}
      </ul>
      <Suspense fallback={<div style={{ height: HEIGHT }} />}>
        <Plot {...drawn} />
      </Suspense>
    </div>
  );
}

function Sample({ of: { tone, shape, dash } }: { of: Series }) {
  const colour = `var(--${tone})`;
  return (
    <svg width="24" height="12" aria-hidden="true">
      {shape === 'line' ? (
        <path d="M0 6h24" stroke={colour} strokeWidth="2" strokeDasharray={dash?.join(' ')} />
      ) : (
        <rect
          x="6"
          y="1"
          width="11"
          height="10"
          stroke={colour}
          strokeWidth="1.5"
          fill={shape === 'hollow bar on the right' ? 'none' : colour}
        />
      )}
    </svg>
  );
}
