/**
 * Scrolls through any number of rows of one height: only those in sight are in the document, and their elements are
 * used again.
 *
 * - Browsers draw no box higher than some ten million pixels. A longer list gets a shorter box: small moves of the
 *   scroll bar are taken as they are, long ones in proportion, and once it rests the bar is put where it belongs.
 * - `box` scrolls; in it stands `space` with the height of all, in that `view`, which stays in sight (CSS: sticky) and
 *   holds the rows.
 */
export interface ScrollerOptions {
  readonly box: HTMLElement;
  readonly space: HTMLElement;
  /** Where the rows go. */
  readonly rows: HTMLElement;
  readonly rowHeight: number;
  /** Height of what stands above the rows and does not scroll. */
  readonly headHeight: () => number;
  readonly make: () => HTMLElement;
  readonly fill: (element: HTMLElement, index: number) => void;
  /** Called when other rows have come into sight, or the same ones were filled again. */
  readonly onDrawn: () => void;
}

const pixelsMax = 6_000_000;
const restMs = 140;

/** Draws the rows that are in sight. */
export class Scroller {
  private readonly options: ScrollerOptions;
  private count = 0;
  /** Pixels that are scrolled past, of all rows. */
  private top = 0;
  private scrolled = 0;
  private slots: { readonly element: HTMLElement; row: number }[] = [];
  private rest: ReturnType<typeof setTimeout> | undefined;
  private readonly observer: ResizeObserver;

  constructor(options: ScrollerOptions) {
    this.options = options;
    options.box.addEventListener('scroll', this.onScroll, { passive: true });
    this.observer = new ResizeObserver(() => {
      this.refresh();
    });
    this.observer.observe(options.box);
  }

  close(): void {
    this.observer.disconnect();
    clearTimeout(this.rest);
    this.options.box.removeEventListener('scroll', this.onScroll);
  }

  get viewHeight(): number {
    return Math.max(0, this.options.box.clientHeight - this.options.headHeight());
  }
  get pageRows(): number {
    return Math.max(1, Math.floor(this.viewHeight / this.options.rowHeight) - 1);
  }
  private get total(): number {
    return this.count * this.options.rowHeight;
  }
  private get topMax(): number {
    return Math.max(0, this.total - this.viewHeight);
  }
  private get scrollMax(): number {
    return Math.max(0, this.options.box.scrollHeight - this.options.box.clientHeight);
  }
  private get isScaled(): boolean {
    return this.total > pixelsMax;
  }

  setCount(count: number): void {
    this.count = count;
    this.options.space.style.height = `${Math.min(this.total, pixelsMax) + this.options.headHeight()}px`;
    this.goTo(Math.min(this.top, this.topMax));
  }
  /** Fills all rows again. */
  refresh(): void {
    for (const slot of this.slots) slot.row = -1;
    this.draw();
  }
  /** Brings a row into sight. */
  reveal(row: number): void {
    const { rowHeight } = this.options;
    const start = row * rowHeight;
    if (start < this.top) this.goTo(start);
    else if (start + rowHeight > this.top + this.viewHeight) this.goTo(start + rowHeight - this.viewHeight);
  }
  /** Whether all of a row would be in sight in a view of this height. */
  isInSight(row: number, viewHeight: number): boolean {
    const { rowHeight } = this.options;
    return row * rowHeight >= this.top && (row + 1) * rowHeight <= this.top + viewHeight;
  }
  /** The element of a row, while it is in sight. */
  element(row: number): HTMLElement | undefined {
    return this.slots.find((slot) => slot.row === row)?.element;
  }

  private goTo(top: number): void {
    this.top = Math.max(0, Math.min(top, this.topMax));
    this.place();
    this.draw();
  }
  /** Puts the scroll bar where it belongs. */
  private place(): void {
    const { box } = this.options;
    const to = this.isScaled ? (this.topMax === 0 ? 0 : (this.top / this.topMax) * this.scrollMax) : this.top;
    if (Math.abs(box.scrollTop - to) >= 1) box.scrollTop = to;
    this.scrolled = box.scrollTop;
  }

  private readonly onScroll = (): void => {
    const at = this.options.box.scrollTop;
    const moved = at - this.scrolled;
    this.scrolled = at;
    if (!this.isScaled) this.top = at;
    else if (moved !== 0) {
      const { viewHeight } = this;
      const isLong = Math.abs(moved) > viewHeight * 3;
      this.top = isLong ? (at / this.scrollMax) * this.topMax : Math.max(0, Math.min(this.topMax, this.top + moved));
      if (at <= 0) this.top = 0;
      else if (at >= this.scrollMax - 1) this.top = this.topMax;
      clearTimeout(this.rest);
      // Near an end of the bar there is no room for small moves.
      if (!isLong && (at < viewHeight || at > this.scrollMax - viewHeight)) this.place();
      else
        this.rest = setTimeout(() => {
          this.place();
        }, restMs);
    }
    this.draw();
  };

  private draw(): void {
    const { rowHeight, rows, make, fill, onDrawn } = this.options;
    const { viewHeight } = this;
    rows.style.height = `${viewHeight}px`;
    const first = Math.max(0, Math.floor(this.top / rowHeight));
    const end = Math.min(this.count, Math.ceil((this.top + viewHeight) / rowHeight) + 1);
    const wanted = viewHeight === 0 ? 0 : Math.ceil(viewHeight / rowHeight) + 2;
    for (; this.slots.length < wanted; this.slots.push({ element: rows.appendChild(make()), row: -1 }));
    for (; this.slots.length > wanted; this.slots.pop()!.element.remove()) this.slots.at(-1)!.row = -1;
    // A row keeps its element while it is in sight.
    const used = new Array<boolean>(this.slots.length).fill(false);
    const length = this.slots.length;
    for (let row = first; row < end && length > 0; row++) {
      const slot = this.slots[row % length];
      used[row % length] = true;
      if (slot.row !== row) {
        slot.row = row;
        fill(slot.element, row);
      }
      slot.element.style.transform = `translateY(${row * rowHeight - this.top}px)`;
      if (slot.element.hidden) slot.element.hidden = false;
    }
    used.forEach((is, i) => {
      if (is) return;
      this.slots[i].row = -1;
      this.slots[i].element.hidden = true;
    });
    onDrawn();
  }
}
