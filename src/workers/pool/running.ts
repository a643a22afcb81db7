/** What is under way in a worker pool, and how many pieces of work have begun so far. */
export interface Running {
  queries: number;
  loads: number;
  begun: number;
}
