import { z } from 'zod';
import { Json } from '#shared/core/json.ts';

const GridPosition = z
  .object({
    i: z.string().max(255).meta({ title: 'Widget', description: 'Key of a widget of the dashboard' }),
    x: z.number().meta({ title: 'Column', description: 'Columns to the left of the widget, from 0' }),
    y: z.number().meta({ title: 'Row', description: 'Rows above the widget, from 0' }),
    w: z.number().meta({ title: 'Width', description: 'In columns of the grid' }),
    h: z.number().meta({ title: 'Height', description: 'In rows of the grid' }),
  })
  .catchall(Json)
  .meta({ id: 'DashboardPlace' });

const GridPositions = z.array(GridPosition).max(1_000);

const Layouts = z
  .object({
    lg: GridPositions.nullish().meta({
      title: 'Wide screens',
      description: 'Places of the widgets on a wide screen',
    }),
    md: GridPositions.nullish().meta({
      title: 'Medium screens',
      description: 'Places of the widgets on a medium screen',
    }),
    sm: GridPositions.nullish().meta({
      title: 'Narrow screens',
      description: 'Places of the widgets on a narrow screen',
    }),
  })
  .catchall(Json)
  .meta({ id: 'DashboardLayouts' });

/** Widgets in a grid, laid out for each width of the screen. The admin UI reads it: it is stored as it comes. */
export const DashboardConfig = z
  .object({
    widgets: z
      .array(z.string().max(255))
      .max(1_000)
      .nullish()
      .meta({ title: 'Widgets', description: 'Keys of the form `widget_<widgetID>_<n>`' }),
    layouts: Layouts.nullish().meta({
      title: 'Layouts',
      description: 'Where the widgets are, by the width of the screen',
    }),
  })
  .catchall(Json)
  .meta({ id: 'DashboardConfig' });
