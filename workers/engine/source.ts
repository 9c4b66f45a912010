/** Where an output is kept: the number of the row with the event, once it has one. */
export interface Source {
  seq: number;
}
