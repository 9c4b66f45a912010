/** Charts whose data the server has shaped: one file of the build. */
import type { WidgetProps } from '../page-context.ts';
import { ChartWidget } from './chart.tsx';

export const BarWidget = (props: WidgetProps) => <ChartWidget {...props} type="bar" />;
export const LineWidget = (props: WidgetProps) => <ChartWidget {...props} type="line" />;
export const PieWidget = (props: WidgetProps) => <ChartWidget {...props} type="pie" />;
export const PolarAreaWidget = (props: WidgetProps) => <ChartWidget {...props} type="polarArea" />;
export const RadarWidget = (props: WidgetProps) => <ChartWidget {...props} type="radar" />;
export const ScatterWidget = (props: WidgetProps) => <ChartWidget {...props} type="scatter" />;
export const BubbleWidget = (props: WidgetProps) => <ChartWidget {...props} type="bubble" />;
