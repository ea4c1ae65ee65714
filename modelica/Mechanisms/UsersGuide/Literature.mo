within Mechanisms.UsersGuide;
class Literature "Literature"
  extends Modelica.Icons.Information;
  annotation (
    preferredView="info",
    DocumentationClass=true,
    Documentation(info="<html>
<dl>
<dt>[Armstrong1994]</dt>
<dd>B. Armstrong-H&eacute;louvry, P. Dupont, C. Canudas de Wit: <em>A survey of models, analysis tools and compensation
methods for the control of machines with friction</em>, Automatica 30 (1994), 1083-1138.</dd>
<dt>[Canudas1995]</dt>
<dd>C. Canudas de Wit, H. Olsson, K. J. &Aring;str&ouml;m, P. Lischinsky: <em>A new model for control of systems with
friction</em>, IEEE Transactions on Automatic Control 40 (1995), 419-425.</dd>
<dt>[Gross2001]</dt>
<dd>H. Gro&szlig;, J. Hamann, G. Wiegand&auml;rtner: <em>Electrical Feed Drives in Automation</em>, Publicis, 2001.</dd>
<dt>[Janot2019]</dt>
<dd>A. Janot, M. Gautier, M. Brunot: <em>Data Set and Reference Models of EMPS</em>, Workshop on Nonlinear System
Identification Benchmarks, 2019.</dd>
<dt>[Kampfmann2017]</dt>
<dd>R. Kampfmann, D. M&ouml;sch, N. Menager: <em>Parameter Estimation based on FMI</em>. 12th International Modelica
Conference, Prague, 2017.</dd>
<dt>[Khalil1986]</dt>
<dd>W. Khalil, J.-F. Kleinfinger: <em>A new geometric notation for open and closed-loop robots</em>, IEEE International
Conference on Robotics and Automation, 1986, 1174-1179.</dd>
<dt>[Khalil2002]</dt>
<dd>W. Khalil, E. Dombre: <em>Modeling, Identification and Control of Robots</em>, 2002.</dd>
<dt>[Ljung1999]</dt>
<dd>L. Ljung: <em>System Identification: Theory for the User</em>, 2nd edition, Prentice Hall, 1999.</dd>
<dt>[Luh1980]</dt>
<dd>J. Y. S. Luh, M. W. Walker, R. P. C. Paul: <em>On-line computational scheme for mechanical manipulators</em>, ASME
Journal of Dynamic Systems, Measurement and Control 102 (1980), 69-76.</dd>
<dt>[Pelchen2002]</dt>
<dd>C. Pelchen, C. Schweiger, M. Otter: <em>Modeling and Simulating the Efficiency of Gearboxes and of Planetary
Gearboxes</em>, 2nd International Modelica Conference, Oberpfaffenhofen, 2002.</dd>
<dt>[Swevers1997]</dt>
<dd>J. Swevers, C. Ganseman, D. Bilgin T&uuml;kel, J. De Schutter, H. Van Brussel: <em>Optimal robot excitation and
identification</em>, IEEE Transactions on Robotics and Automation 13 (1997), 730-740.</dd>
<dt>[Zeng2017]</dt>
<dd>Y. Zeng: <em>Parameter Identification for Dynamic Damping System Based on Genetic Algorithm</em>, AMSE Journals,
Series Advances C 72 (2017), 101-113.</dd>
</dl>
</html>"));
end Literature;
