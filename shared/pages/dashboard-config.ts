import { z } from 'zod';
import { Json } from '../json.ts';

const Place = z
  .object({
    i: z.string().max(255).describe('Key of a widget'),
    x: z.number(),
    y: z.number(),
    w: z.number(),
    h: z.number(),
  })
  .catchall(Json)
  .meta({ id: 'DashboardPlace' });

const Places = z.array(Place).max(1_000);

const Layouts = z
  .object({ lg: Places.nullish(), md: Places.nullish(), sm: Places.nullish() })
  .catchall(Json)
  .meta({ id: 'DashboardLayouts' });

/** Widgets in a grid, laid out for each width of the screen. The admin UI reads it: it is stored as it comes. */
export const DashboardConfig = z
  .object({
    widgets: z.array(z.string().max(255)).max(1_000).nullish().describe('Keys of the form `widget_<widgetID>_<n>`'),
    layouts: Layouts.nullish(),
  })
  .catchall(Json)
  .meta({ id: 'DashboardConfig' });
