import type { widgetData } from '#shared/messaging/queues/widget-data.ts';
import { loadWidget } from '../datasources/widgets/load-widget.ts';
import { readData } from '../datasources/widgets/read-data.ts';
import type { Answerer } from './answer-requests.ts';

export const answerWidgetData: Answerer<typeof widgetData> = async ({ question, signal }, { pool, queries, logger }) =>
  readData({ queries, logger }, await loadWidget(pool, question), { ...question, signal });
