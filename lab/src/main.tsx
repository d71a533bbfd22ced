import { render } from "preact";

const root = document.getElementById("lab");
if (root) {
  render(<h1>Forebay lab</h1>, root);
}
